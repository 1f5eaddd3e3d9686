/** The status endpoint (SSF 1.0 §8.1.2): paused, what happens is held; disabled, it is not. */
import type { NewEvent } from '../../src/events.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isStorable } from '../../src/protocol/json.ts'
import { Type } from '../../src/protocol/schema.ts'
import { STREAM_UPDATED } from './events.ts'
import type { Queue } from './queue.ts'
import { MANAGE, READ, StreamId, type ServeSignals } from './serving.ts'
import { queuedOfStream } from './sets.ts'
import { MOST_REASON, STATUSES, statusToWire, type Status, type Stream } from './stream.ts'
import type { Streams } from './streams.ts'

export const STATUS = '/status'

export interface WantedStatus {
  readonly status: Status
  readonly reason?: string | undefined
}

/** What was seen is so no more: nothing was done. */
export class ChangedMeanwhile extends OAuthError {
  constructor(status: Status) {
    super('conflict', `the stream has become ${status} meanwhile: look at it again`, { status: 409 })
  }
}

/** `from`: what it must be, or else `ChangedMeanwhile` is thrown. `isTold`: its receiver did not ask for it, and is told of it (§8.1.5). Throws as `Streams.change`. */
export type SetStatus = (
  stream: Pick<Stream, 'client' | 'id'>,
  wanted: WantedStatus & { readonly from?: Status | undefined },
  isTold?: boolean,
) => Promise<Stream>

interface StatusParts {
  readonly streams: Streams
  readonly queue: Queue
}

export function createSetStatus({ streams, queue }: StatusParts): SetStatus {
  return async ({ client, id }, { status, reason, from }, isTold = false) => {
    const now = Date.now()
    const said = { status, ...(reason === undefined ? {} : { reason }) }
    const former: { status?: Status } = {}
    const event: NewEvent = { type: 'stream.changed', client, details: { changes: ['status'], status } }
    const stream = await streams.change(
      client,
      id,
      ({ reason: _former, ...rest }) => {
        if (from !== undefined && rest.status !== from) throw new ChangedMeanwhile(rest.status)
        former.status = rest.status
        return { ...rest, ...said }
      },
      event,
    )
    // Of a disabled one nothing is held, and what a process stored while it was being disabled is not told later. What happened since is.
    if (status === 'disabled' || former.status === 'disabled') await queue.clear(id, now)
    if (isTold)
      await queue.add([queuedOfStream(stream, { type: STREAM_UPDATED, payload: said, isAhead: true })])
    if (status === 'enabled') await queue.wake(stream)
    else if (isTold) await queue.relieve(stream)
    return stream
  }
}

export function addStatus(
  serve: ServeSignals,
  { streams, setStatus }: Pick<StatusParts, 'streams'> & { setStatus: SetStatus },
): void {
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
      reason: Type.Optional(Type.String({ maxLength: MOST_REASON })),
    }),
    async handle({ stream_id: id, ...wanted }, { token }) {
      if (!isStorable(wanted.reason ?? ''))
        throw new OAuthError('invalid_request', 'reason has characters that cannot be stored')
      return statusToWire(await setStatus({ client: token.clientId, id }, wanted))
    },
  })
}
