/** `/admin/deliveries`: what could not be delivered for a day, and has to be looked at. */
import { Type } from '../../src/protocol/schema.ts'
import type { OwnArea } from './area.ts'

const PAGE = 50
const PATH = '/deliveries'
const RETRY = '/deliveries/retry'
const Text = () => Type.Optional(Type.String())

export function addDeliveryPages({ kernel, serve, uri, target, assertGenuine }: OwnArea): void {
  const { givenUpDeliveries } = kernel

  serve({
    path: `/admin${PATH}`,
    query: Type.Object({ after: Text(), retried: Text() }),
    async show({ after, retried }, call) {
      const { deliveries, next } = await givenUpDeliveries.list({ after, limit: PAGE })
      return call.reply.page('admin-deliveries', {
        waiting: await givenUpDeliveries.waiting(),
        rows: deliveries.map(({ id, kind, recipient, enqueuedAt, givenUpAt, attempts, lastError }) => ({
          id,
          kind,
          recipient,
          attempts,
          lastError,
          enqueuedAt: new Date(enqueuedAt),
          givenUpAt: new Date(givenUpAt),
          retry: target(call, RETRY, id),
        })),
        retryAll: deliveries.length > 1 ? target(call, RETRY, '') : null,
        retried: retried !== undefined,
        nextUri: next === null ? null : uri(PATH, { after: next }),
        firstUri: after === undefined ? null : uri(PATH),
      })
    },
  })
  serve({
    path: `/admin${RETRY}`,
    query: Type.Object({}),
    form: Type.Object({ delivery: Text() }),
    show: async (_query, { reply }) => reply.redirect(uri(PATH), 303),
    async submit({ delivery = '' }, call) {
      assertGenuine(call, RETRY, delivery)
      // One that was delivered meanwhile is as it was wanted.
      await (delivery === '' ? givenUpDeliveries.retryAll() : givenUpDeliveries.retry(delivery))
      return call.reply.redirect(uri(PATH, { retried: 'yes' }), 303)
    },
  })
}
