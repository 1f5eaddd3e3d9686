/** The verification endpoint (SSF 1.0 §8.1.4): a receiver asks for an event, to see that events come through. */
import { answer } from '../../src/doors/answer.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isStorable } from '../../src/protocol/json.ts'
import { Type } from '../../src/protocol/schema.ts'
import { VERIFICATION } from './events.ts'
import type { Queue } from './queue.ts'
import { MANAGE, StreamId, type ServeSignals } from './serving.ts'
import { queuedOfStream } from './sets.ts'
import { MIN_VERIFICATION_INTERVAL } from './stream.ts'
import type { Streams } from './streams.ts'

export const VERIFY = '/verify'

export function addVerification(
  serve: ServeSignals,
  { streams, queue }: { streams: Streams; queue: Queue },
): void {
  serve({
    method: 'POST',
    path: VERIFY,
    scope: MANAGE,
    parameters: Type.Object({ stream_id: StreamId, state: Type.Optional(Type.String({ maxLength: 1000 })) }),
    async handle({ stream_id: id, state }, { token }) {
      if (!isStorable(state ?? ''))
        throw new OAuthError('invalid_request', 'state has characters that cannot be stored')
      const now = Date.now()
      const stream = await streams.change(token.clientId, id, (had) => {
        const left = (had.verifiedAt ?? -Infinity) + MIN_VERIFICATION_INTERVAL * 1000 - now
        if (left > 0) throw tooSoon(Math.ceil(left / 1000))
        return { ...had, verifiedAt: now }
      })
      const payload = state === undefined ? {} : { state }
      if (stream.status !== 'disabled') {
        await queue.add([queuedOfStream(stream, { type: VERIFICATION, payload })])
        await queue.relieve(stream)
        await queue.retry(stream)
      }
      return answer({ status: 204 })
    },
  })
}

export function tooSoon(seconds: number): OAuthError {
  return new OAuthError(
    'temporarily_unavailable',
    `the next verification can be asked for in ${seconds} seconds`,
    {
      status: 429,
      headers: { 'retry-after': String(seconds) },
    },
  )
}
