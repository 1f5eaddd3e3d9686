/** What people find at a page that they have been through, or that is too old: that it is so, and the way on to the app. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import { logFailure } from '../../src/http/errors.ts'
import { formText } from '../../src/http/forms.ts'
import { message } from '../../src/protocol/message.ts'
import { parseForm } from '../../src/protocol/wire.ts'
import { isOurs } from '../../src/services/users/ourselves.ts'
import { type Explanation, showError } from '../pages/error-page.ts'
import { typedAgain } from '../pages/expired-form.ts'
import type { Asked } from './asked.ts'
import { clientView, entranceOf } from '../pages/client-view.ts'
import type { InteractionOver, WhyOver } from './over.ts'
import type { InteractionStore, Stored } from './store.ts'

const WORDS: Readonly<Record<WhyOver, NonNullable<Explanation['words']>>> = {
  done: {
    title: message('This step is done'),
    text: message(
      'You have been through it already, here or in another tab. Nothing is left to do on this page.',
    ),
  },
  'too old': {
    title: message('This page is too old'),
    text: message('It has been open for more than an hour. Nothing is lost: start again from the app.'),
  },
  elsewhere: {
    title: message('This page has expired'),
    text: message('This browser no longer knows it, or it was opened in another one. Nothing has been done.'),
  },
  unknown: {
    title: message('This page has ended'),
    text: message(
      'It has been used, or has been open for too long. Go back to the app that you want to use, and start again there.',
    ),
  },
}

export type ShowOver = (over: InteractionOver, call: BrowserCall) => Promise<FastifyReply>

export function createOverPage({ oauth, browser }: FastifyInstance, store: InteractionStore): ShowOver {
  const beginAgain = async (asked: Asked, request: ApprovalRequest, call: BrowserCall): Promise<Stored> => {
    await oauth.owners('outcome').get(asked.outcome)?.check?.(request, asked.state)
    return store.begin(request, asked.outcome, asked.state, browser.id(call))
  }

  /**
   * A new start: where the app begins one by itself (OpenID Connect Core §4), its home page, or else the same request
   * once more, checked as any that comes; the app knows it by its `state`.
   */
  async function wayToApp(asked: Asked, call: BrowserCall): Promise<Explanation> {
    const request = await store.revive(asked)
    const { name: app } = clientView(request)
    const to = (uri: string): Explanation => ({
      ways: [{ uri, text: message('Continue to {app}', { app }) }],
    })
    const entrance = entranceOf(request, oauth.issuer)
    if (entrance !== null) return to(entrance)
    // The page that asked is the way on: it asks again for what it needs.
    if (isOurs(request)) return { ways: [{ uri: String(asked.state['returnTo']), text: message('Go on') }] }
    // Without one there is nothing to begin again: what asked is elsewhere, as a device is.
    if (request.redirectUri === undefined) return {}
    // One that is answered once has had its answer, or would find none to give: the app pushes another.
    if ('spends' in request) return {}
    return to(store.addressOf(await beginAgain(asked, request, call)))
  }

  /** The same request once more, in this browser, and with what was typed: whoever has lost their cookies goes on with it. */
  async function wayHere(asked: Asked, call: BrowserCall): Promise<Explanation> {
    const request = await store.revive(asked)
    if ((request.redirectUri === undefined && !isOurs(request)) || asked.until <= Date.now()) return {}
    const { step } = call.request.params as { step?: string }
    if (step !== undefined) browser.assertFromHere(call)
    const begun = await beginAgain(asked, request, call)
    if (step === undefined)
      return { ways: [{ uri: store.addressOf(begun), text: message('Open the page again') }] }
    const fields = typedAgain(parseForm(formText(call.request)))
    return { again: { action: store.addressOf(begun, step), fields } }
  }

  return async (over, call) => {
    const { why, asked } = over
    const wayOn = why === 'elsewhere' ? wayHere : wayToApp
    // An app that is gone, or may be answered no more, is not gone back to.
    const way = asked === undefined ? {} : await wayOn(asked, call).catch(() => ({}))
    logFailure(over, call.request)
    return showError(over, call.reply, { words: WORDS[why], ...way })
  }
}
