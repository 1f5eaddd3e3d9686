/** Webhooks in the interface of the administration. */
import { Type } from '../../src/protocol/schema.ts'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import { OWN_EVENTS } from '../../src/events.ts'
import type { Webhook } from '../../src/settings/webhooks.ts'
import { Instant, instant } from '../admin-api/instants.ts'
import type { AdminApi } from '../admin-api/operations.ts'
import { notFound } from '../programs/refusals.ts'
import type { Webhooks } from './webhooks.ts'

const ALL = 'latchkey:admin'
const Attempt = Type.Object({
  id: Type.String({ description: 'The webhook-id of the message.' }),
  at: Instant(),
  milliseconds: Type.Integer(),
  taken: Type.Boolean(),
  text: Type.String({ description: 'What was answered, or why it was not taken.' }),
})
const WebhookSchema = Type.Object(
  {
    name: Type.String(),
    address: Type.String({ description: 'Without what may be a secret in it.' }),
    events: Type.Array(Type.String(), { description: `Such as ${Object.keys(OWN_EVENTS)[0]}.` }),
    secrets: Type.Integer({ description: 'How many sign each message.' }),
    waiting: Type.Integer({ description: 'Messages; 501 stands for more.' }),
    crowded: Type.Boolean({ description: 'As many wait as may: the oldest are given up first.' }),
    given_up: Type.Integer({ description: 'Messages; 501 stands for more.' }),
    failures: Type.Integer({ description: 'In a row, up to now.' }),
    failing_since: Type.Optional(Instant()),
    rests_until: Type.Optional(Instant('It is not tried before.')),
    attempts: Type.Array(Attempt, { description: 'The last 20, the latest first.' }),
  },
  { title: 'Webhook' },
)
const TestedSchema = Type.Object({
  id: Type.String({ description: 'The webhook-id of the message.' }),
  taken: Type.Boolean(),
  status: Type.Optional(Type.Integer({ description: 'Of HTTP; without it no answer came.' })),
  milliseconds: Type.Integer(),
  problem: Type.Optional(Type.String()),
  advice: Type.Optional(Type.String()),
})

export function addOperations(api: AdminApi, webhooks: Webhooks): void {
  api.serve({
    method: 'GET',
    path: '/webhooks',
    name: 'listWebhooks',
    summary: 'The addresses that WEBHOOKS names, and what became of the last messages',
    scope: ALL,
    answer: { status: 200, schema: Type.Object({ webhooks: Type.Array(WebhookSchema) }) },
    handle: async () => ({ webhooks: (await webhooks.list()).map(toWire) }),
  })
  api.serve({
    method: 'POST',
    path: '/webhooks/:name/test',
    name: 'testWebhook',
    summary: 'Sends a message of the type webhook.test at once, and says what became of it',
    scope: ALL,
    answer: { status: 200, schema: TestedSchema },
    async handle(_query, call) {
      const { status, ...tested } = await webhooks.test(found(webhooks, call))
      return { ...tested, ...(status === null ? {} : { status }) }
    },
  })
  api.serve({
    method: 'POST',
    path: '/webhooks/:name/retry',
    name: 'retryWebhook',
    summary: 'Sends what was given up for a webhook once more, for another day',
    scope: ALL,
    answer: { status: 200, schema: Type.Object({ retried: Type.Integer() }) },
    handle: async (_query, call) => ({ retried: await webhooks.retry(found(webhooks, call)) }),
  })
}

function found(webhooks: Webhooks, { path }: BearerCall): Webhook {
  const webhook = webhooks.find(path['name'] ?? '')
  if (webhook === undefined) throw notFound('webhook')
  return webhook
}

function toWire(one: Awaited<ReturnType<Webhooks['list']>>[number]) {
  const {
    name,
    shown,
    types,
    secrets,
    waiting,
    givenUp,
    failures,
    failingSince,
    restsUntil,
    outcomes,
    crowded,
  } = one
  return {
    name,
    address: shown,
    events: types,
    secrets: secrets.length,
    waiting,
    crowded,
    given_up: givenUp,
    failures,
    ...(failingSince === null ? {} : { failing_since: instant(failingSince) }),
    ...(restsUntil === null ? {} : { rests_until: instant(restsUntil) }),
    attempts: outcomes.map(({ at, done, ...outcome }) => ({ ...outcome, at: instant(at), taken: done })),
  }
}
