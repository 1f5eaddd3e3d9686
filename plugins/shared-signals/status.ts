/** The status endpoint (SSF 1.0 §8.1.2): paused, what happens is held; disabled, it is not. */
import type { NewEvent } from '../../src/events.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isStorable } from '../../src/protocol/json.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { Queue } from './queue.ts'
import { MANAGE, READ, StreamId, type ServeSignals } from './serving.ts'
import { STATUSES, statusToWire, type Status } from './stream.ts'
import type { Streams } from './streams.ts'

export const STATUS = '/status'

export function addStatus(serve: ServeSignals, { streams, queue }: { streams: Streams; queue: Queue }): void {
  serve({
    method: 'GET',
    path: STATUS,
    scope: READ,
    parameters: Type.Object({ stream_id: StreamId }),
    handle: async ({ stream_id: id }, { token }) => statusToWire(await streams.get(token.clientId, id)),
  })
  serve({
    method: 'POST',
    path: STATUS,
    scope: MANAGE,
    parameters: Type.Object({
      stream_id: StreamId,
      status: Type.Enum([...STATUSES]),
      reason: Type.Optional(Type.String({ maxLength: 1000 })),
    }),
    async handle({ stream_id: id, status, reason }, { token }) {
      if (!isStorable(reason ?? ''))
        throw new OAuthError('invalid_request', 'reason has characters that cannot be stored')
      const now = Date.now()
      const former: { status?: Status } = {}
      const event: NewEvent = {
        type: 'stream.changed',
        client: token.clientId,
        details: { changes: ['status'], status },
      }
      const stream = await streams.change(
        token.clientId,
        id,
        ({ reason: _former, ...rest }) => {
          former.status = rest.status
          return { ...rest, status, ...(reason === undefined ? {} : { reason }) }
        },
        event,
      )
      // Of a disabled one nothing is held, and what a process stored while it was being disabled is not told later. What happened since is.
      if (status === 'disabled' || former.status === 'disabled') await queue.clear(id, now)
      if (status === 'enabled') await queue.wake(stream)
      return statusToWire(stream)
    },
  })
}
