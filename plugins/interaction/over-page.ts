/** What people find at a page that they have been through, or that is too old: that it is so, and the way on to the app. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import { logFailure } from '../../src/http/errors.ts'
import { showError } from '../pages/error-page.ts'
import type { Asked } from './asked.ts'
import { clientView } from '../pages/client-view.ts'
import type { InteractionOver, WhyOver } from './over.ts'
import type { InteractionStore } from './store.ts'

const WORDS: Readonly<Record<WhyOver, { title: string; text: string }>> = {
  done: {
    title: 'This step is done',
    text: 'You have been through it already, here or in another tab. Nothing is left to do on this page.',
  },
  'too old': {
    title: 'This page is too old',
    text: 'It has been open for more than an hour. Nothing is lost: start again from the app.',
  },
  unknown: {
    title: 'This page has ended',
    text: 'It has been used, or has been open for too long. Go back to the app that you want to use, and start again there.',
  },
}

export type ShowOver = (over: InteractionOver, call: BrowserCall) => Promise<FastifyReply>

export function createOverPage({ oauth, browser }: FastifyInstance, store: InteractionStore): ShowOver {
  /**
   * A new start: where the app begins one by itself (OpenID Connect Core §4), its home page, or else the same request
   * once more, checked as any that comes; the app knows it by its `state`.
   */
  async function wayOn(asked: Asked, call: BrowserCall): Promise<{ name: string; uri: string } | null> {
    const request = await store.revive(asked)
    const { name, homeUri } = clientView(request)
    const initiate = request.client.metadata['initiate_login_uri'] as string | undefined
    if (initiate !== undefined) {
      const uri = new URL(initiate)
      uri.searchParams.set('iss', oauth.issuer)
      return { name, uri: uri.href }
    }
    if (homeUri !== null) return { name, uri: homeUri }
    // Without one there is nothing to begin again: what asked is elsewhere, as a device is.
    if (request.redirectUri === undefined) return null
    await oauth.owners('outcome').get(asked.outcome)?.check?.(request)
    const again = store.begin(request, asked.outcome, asked.state, browser.id(call))
    return { name, uri: store.addressOf(again) }
  }

  return async (over, call) => {
    const { why, asked } = over
    // An app that is gone, or may be answered no more, is not gone back to.
    const way = asked === undefined ? null : await wayOn(asked, call).catch(() => null)
    logFailure(over, call.request)
    return showError(over, call.reply, {
      words: WORDS[why],
      backUri: way?.uri ?? null,
      backTo: way?.name ?? null,
    })
  }
}
