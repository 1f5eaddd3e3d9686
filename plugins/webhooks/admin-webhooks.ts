/** `/admin/webhooks`: each address with what it is told, whether it takes it, and what waits; a test, and another try of what was given up. */
import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import { MANY_FAILURES } from '../../src/services/outbox/recipients.ts'
import type { FormTarget, Notice } from '../pages/models.ts'
import { noticeOfEnd } from '../admin/notice.ts'
import type { Webhooks } from './webhooks.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-webhooks': AdminWebhooks
  }
}

interface AdminWebhooks {
  notice: Notice | null
  deliveriesUri: string
  webhooks: readonly {
    name: string
    address: string
    events: readonly string[]
    /** The same as they stand in the setting, such as user.*. */
    asked: readonly string[]
    /** How many sign each message. */
    secrets: number
    waiting: number
    /** As much as may: the oldest are given up. */
    crowded: boolean
    givenUp: number
    /** Null where the last attempt did well. */
    failingSince: Date | null
    /** When it is tried again, where it failed so often that it is tried less. */
    restsUntil: Date | null
    outcomes: readonly { at: Date; milliseconds: number; done: boolean; text: string; isNew: boolean }[]
    test: FormTarget
    /** Null where nothing was given up. */
    retry: FormTarget | null
  }[]
}

const PATH = '/webhooks'
const TEST = `${PATH}/test`
const RETRY = `${PATH}/retry`
const Text = () => Type.Optional(Type.String())

export async function addAdminWebhooks(fastify: FastifyInstance, webhooks: Webhooks): Promise<void> {
  await fastify.pages.add('admin-webhooks', new URL('../../templates/admin-webhooks.eta', import.meta.url))
  const { serve, target, uri, assertGenuine } = fastify.admin.addSection({
    text: message('Webhooks'),
    path: PATH,
  })

  serve({
    path: `/admin${PATH}`,
    query: Type.Object({ tested: Text(), retried: Text() }),
    async show({ tested, retried }, call) {
      const all = await webhooks.list()
      return call.reply.page('admin-webhooks', {
        notice: noticeOfEnd(retried, message('What was given up is sent again, for another day.')),
        deliveriesUri: uri('/deliveries'),
        webhooks: all.map(({ name, shown, types, asked, secrets, failures, ...state }) => ({
          name,
          address: shown,
          events: types,
          asked,
          secrets: secrets.length,
          waiting: state.waiting,
          crowded: state.crowded,
          givenUp: state.givenUp,
          failingSince: state.failingSince === null ? null : new Date(state.failingSince),
          restsUntil: state.restsUntil === null || failures < MANY_FAILURES ? null : new Date(state.restsUntil),
          outcomes: state.outcomes.map(({ id, at, ...outcome }) => ({ ...outcome, at: new Date(at), isNew: id === tested })),
          test: target(call, TEST, name),
          retry: state.givenUp > 0 ? target(call, RETRY, name) : null,
        })),
      })
    }, // prettier-ignore
  })

  const forms: readonly [string, (name: string) => Promise<Readonly<Record<string, string>>>][] = [
    [TEST, async (name) => ({ tested: (await webhooks.test(webhookOf(name))).id })],
    [RETRY, async (name) => ({ retried: String(await webhooks.retry(webhookOf(name))) })],
  ]
  function webhookOf(name: string) {
    const webhook = webhooks.find(name)
    if (webhook === undefined) throw new OAuthError('invalid_request', 'WEBHOOKS names no such address')
    return webhook
  }
  for (const [path, submit] of forms)
    serve({
      path: `/admin${path}`,
      query: Type.Object({}),
      form: Type.Object({ webhook: Text() }),
      show: async (_query, { reply }) => reply.redirect(uri(PATH), 303),
      async submit({ webhook = '' }, call) {
        assertGenuine(call, path, webhook)
        return call.reply.redirect(uri(PATH, await submit(webhook)), 303)
      },
    })
}
