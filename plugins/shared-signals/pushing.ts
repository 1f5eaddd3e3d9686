/**
 * Push (RFC 8935): what waits for a stream goes to its address, one after the other. The outbox says when, and tries again; what is to be said, and
 * where, is looked up at each event, so that a stream that was changed, paused or deleted meanwhile is heeded.
 */
import type { FastifyInstance } from 'fastify'
import { NotNow, OutboundError } from '../../src/doors/outbound.ts'
import { Type } from '../../src/protocol/schema.ts'
import { isObject, parseJson } from '../../src/protocol/json.ts'
import type { WaitingEventRow } from '../../src/store/security-events.ts'
import { KIND, type Queue } from './queue.ts'
import type { Sets } from './sets.ts'
import { PUSH, type Delivery, type Stream } from './stream.ts'
import type { Streams } from './streams.ts'

/** Milliseconds, after which the rest is for the next delivery: one may take fifteen seconds, of which a request takes five. */
const BUDGET = 8000
/** Answers that say no, after which the address is left alone for a while. */
const MOST_REFUSED = 20
/** Events without any answer, of which each may have taken its time: one may be at fault itself, two are not. */
const MOST_SILENT = 2
/** RFC 8935 §2.4, SSF 1.0 §8.1.4.1: of this one event, which will not be another one when it comes again. */
const FINAL = new Set(['invalid_request', 'invalid_state'])

/** What came of the events of a stream in one attempt. */
interface Round {
  /** The id of the last one that was not taken. */
  after: string
  /** Whether the receiver was asked at all. */
  isAsked: boolean
  taken: number
  readonly problems: Error[]
}

export interface PushingParts {
  readonly streams: Streams
  readonly queue: Queue
  readonly sets: Sets
}

export function addPushing(fastify: FastifyInstance, { streams, queue, sets }: PushingParts): void {
  const { oauth, log } = fastify
  /** By the stream: as far as this process has come where too many were refused. */
  const reached = new Map<string, string>()

  async function pushing(client: string, id: string): Promise<Stream | null> {
    const stream = await streams.find(client)
    return stream?.id === id && stream.delivery.method === PUSH ? stream : null
  }

  /** What was answered where it was not taken. Throws `OutboundError` where no answer came. */
  async function push(
    { endpointUrl = '', authorizationHeader }: Delivery,
    claims: WaitingEventRow['claims'],
  ): Promise<{ status: number; err: string } | undefined> {
    const response = await oauth.fetch(endpointUrl, {
      method: 'POST',
      headers: {
        'content-type': 'application/secevent+jwt',
        accept: 'application/json',
        ...(authorizationHeader === undefined ? {} : { authorization: authorizationHeader }),
      },
      body: await sets.compact(claims),
    })
    return response.ok ? undefined : { status: response.status, err: await errOf(response) }
  }

  async function pushOne(stream: Stream, { jti, claims }: WaitingEventRow, round: Round): Promise<void> {
    const { id, client, delivery } = stream
    let isDone = false
    round.isAsked = true
    try {
      const { status = 0, err = '' } = (await push(delivery, claims)) ?? {}
      const isRefused = status === 400 && FINAL.has(err)
      isDone = status === 0 || isRefused
      if (status === 0) round.taken++
      else if (isRefused) log.warn({ client, jti, refusal: err }, 'a receiver refused a security event')
      else round.problems.push(new Error(`it answered with ${status}${err === '' ? '' : `: ${err}`}`))
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      round.problems.push(error)
    } finally {
      // Where that fails, too, it lapses.
      if (isDone) await queue.remove(id, [jti])
      else await queue.release(id, jti)
    }
    if (isDone) return
    // What it did not take keeps nothing behind it waiting. The first is tried each time, so that all go in their order once it takes that.
    const former = round.problems.length === 1 ? reached.get(id) : undefined
    round.after = former !== undefined && former > jti ? former : jti
  }

  oauth.deliver({
    kind: KIND,
    payload: Type.Object({ client: Type.String(), stream: Type.String() }),
    async deliver({ client, stream: id }) {
      const until = performance.now() + BUDGET
      const round: Round = { after: '', isAsked: false, taken: 0, problems: [] }
      for (let isFirst = true; ; isFirst = false) {
        const stream = await pushing(client, id)
        const row = stream === null ? 'none' : await queue.claim(stream, round.after)
        if (stream === null || row === 'none') {
          reached.delete(id)
          break
        }
        if (row === 'busy' && isFirst) throw new NotNow('another process pushes the events of this stream')
        if (row !== 'busy') {
          await pushOne(stream, row, round)
          if (hasPatience(round) && performance.now() <= until) continue
        }
        // The rest is for the next attempt: at once, unless this one failed.
        if (round.problems.length > 0) reached.set(id, round.after)
        else await queue.wake(stream)
        break
      }
      const [problem] = round.problems
      if (problem !== undefined) throw problem
      return round.isAsked ? `${round.taken} taken` : null
    },
  })
}

function hasPatience({ problems }: Round): boolean {
  const silent = problems.filter((problem) => problem instanceof OutboundError)
  return problems.length < MOST_REFUSED && silent.length < MOST_SILENT
}

/** The `err` of RFC 8935 §2.3; of anything else nothing. */
async function errOf(response: Response): Promise<string> {
  const said = parseJson(await response.text())
  const err = isObject(said) ? said['err'] : undefined
  return typeof err === 'string' && /^[a-z_]{1,40}$/.test(err) ? err : ''
}
