/**
 * Push (RFC 8935): what waits for a stream goes to its address, one after the other. The outbox says when, and tries again; what is to be said, and
 * where, is looked up at each event, so that a stream that was changed, paused or deleted meanwhile is heeded.
 */
import type { FastifyInstance } from 'fastify'
import { NotNow, OutboundError } from '../../src/doors/outbound.ts'
import { TooManyUnderWay } from '../../src/services/outbound/too-many.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { Type } from '../../src/protocol/schema.ts'
import { isObject, parseJson } from '../../src/protocol/json.ts'
import type { ClaimedEventRow, WaitingEventRow } from '../../src/store/security-events.ts'
import { KIND, type Queue } from './queue.ts'
import type { Sets } from './sets.ts'
import { PUSH, type Delivery, type Stream } from './stream.ts'
import type { Streams } from './streams.ts'

/** Milliseconds, after which the rest is for the next delivery: one may take fifteen seconds, of which a request takes five. */
const BUDGET = 8000
/** Answers that say no, after which the address is left alone for a while. */
const MOST_REFUSED = 20
/** Of those that were refused round after round, how many this process knows. */
const MOST_KNOWN = 1000
/** Events without any answer, of which each may have taken its time: one may be at fault itself, two are not. */
const MOST_SILENT = 2
/** RFC 8935 §2.4, SSF 1.0 §8.1.4.1: of this one event, which will not be another one when it comes again. */
const FINAL = new Set(['invalid_request', 'invalid_state'])

interface Problem {
  readonly jti: string
  readonly error: Error
  /** Whether it was put off before. */
  readonly isKnown: boolean
}

/** What came of the events of a stream in one attempt. */
interface Round {
  /** The id of the last one that was not taken. */
  after: string
  /** Whether the receiver was asked at all. */
  isAsked: boolean
  taken: number
  /** The id of the last one that was; empty for none. They go in the order of their ids. */
  lastTaken: string
  readonly problems: Problem[]
}

export interface PushingParts {
  readonly streams: Streams
  readonly queue: Queue
  readonly sets: Sets
}

export function addPushing(fastify: FastifyInstance, { streams, queue, sets }: PushingParts): void {
  const { oauth, log } = fastify
  /** By the stream: as far as this process has come where too many were refused, and which those were. */
  const reached = new Map<string, { readonly after: string; readonly refused: readonly string[] }>()

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

  async function pushOne(
    stream: Stream,
    { jti, claims, attempts }: ClaimedEventRow,
    round: Round,
  ): Promise<void> {
    const { id, client, delivery } = stream
    const problem = (error: Error): Problem => ({ jti, error, isKnown: attempts > 0 })
    let isDone = false
    try {
      const { status = 0, err = '' } = (await push(delivery, claims)) ?? {}
      const isRefused = status === 400 && FINAL.has(err)
      isDone = status === 0 || isRefused
      if (status === 0) {
        round.taken++
        round.lastTaken = jti
      } else if (isRefused) log.warn({ client, jti, refusal: err }, 'a receiver refused a security event')
      else
        round.problems.push(problem(new Error(`it answered with ${status}${err === '' ? '' : `: ${err}`}`)))
    } catch (error) {
      if (!(error instanceof OutboundError) || error instanceof TooManyUnderWay) throw error
      round.problems.push(problem(error))
    } finally {
      // Where that fails, too, it lapses.
      if (isDone) await queue.remove(id, [jti])
      else await queue.release(id, jti)
    }
    round.isAsked = true
    if (isDone) return
    // What it did not take keeps nothing behind it waiting. The first is tried each time, so that all go in their order once it takes that.
    const former = round.problems.length === 1 ? (reached.get(id)?.after ?? '') : ''
    round.after = former > jti ? former : jti
  }

  /** One after the other; the stream where some may be left for the next attempt, and null where none is. */
  async function pushAll(client: string, id: string, round: Round): Promise<Stream | null> {
    const until = performance.now() + BUDGET
    for (let isFirst = true; ; isFirst = false) {
      const stream = await pushing(client, id)
      const row = stream === null ? 'none' : await queue.claim(stream, round.after)
      if (stream === null || row === 'none') return null
      if (row === 'busy' && isFirst) throw new NotNow('another process pushes the events of this stream')
      if (row === 'busy') return stream
      try {
        await pushOne(stream, row, round)
      } catch (error) {
        // Nobody was asked: that says nothing of the receiver, nor of this event.
        if (round.isAsked && error instanceof TooManyUnderWay) return stream
        throw error
      }
      if (!hasPatience(round) || performance.now() > until) return stream
    }
  }

  oauth.deliver({
    kind: KIND,
    payload: Type.Object({ client: Type.String(), stream: Type.String() }),
    async deliver({ client, stream: id }, { attempt }) {
      const round: Round = { after: '', isAsked: false, taken: 0, lastTaken: '', problems: [] }
      const rest = await pushAll(client, id, round)
      const fault = faultOf(round)
      const refused = new Set([...(reached.get(id)?.refused ?? []), ...round.problems.map(({ jti }) => jti)])
      if (fault === undefined || rest === null) reached.delete(id)
      else reached.set(id, { after: round.after, refused: [...refused].slice(-MOST_KNOWN) })
      const tried = fault === undefined ? round.problems.map(({ jti }) => jti) : []
      const passed = [...refused].filter((jti) => jti < round.lastTaken || tried.includes(jti))
      await putOff(client, id, round, passed)
      if (fault !== undefined) throw fault
      // It is back: what was put off need not wait for its time.
      if (attempt > 1 && round.taken > 0) await queue.retry({ client, id })
      else if (rest !== null) await queue.goOn(rest)
      return textOf(round)
    },
  })

  kernelOf(fastify).janitor.add('stalledStreams', async () => {
    const pushed = (await streams.list()).filter(({ delivery }) => delivery.method === PUSH)
    const stalled = await queue.stalled(pushed)
    for (const stream of stalled) await queue.goOn(stream)
    return stalled.length
  })

  async function putOff(
    client: string,
    id: string,
    { problems }: Round,
    passed: readonly string[],
  ): Promise<void> {
    if (passed.length === 0) return
    await queue.putOff({ client, id }, passed)
    for (const { jti, error: err, isKnown } of problems)
      if (!isKnown && passed.includes(jti))
        log.warn(
          { client, jti, err },
          'a receiver took other security events and not this one, which is sent again later',
        )
  }
}

/** Why the receiver fails: undefined where it took something behind what it did not take, or had not taken that before while it took others. */
function faultOf({ lastTaken, problems }: Round): Error | undefined {
  return problems.find(({ jti, isKnown }) => !isKnown && jti > lastTaken)?.error
}

/** Null where that says nothing of the receiver. */
function textOf({ isAsked, taken, problems }: Round): string | null {
  return !isAsked || (taken === 0 && problems.length > 0) ? null : `${taken} taken`
}

function hasPatience({ problems }: Round): boolean {
  const silent = problems.filter(({ error }) => error instanceof OutboundError)
  return problems.length < MOST_REFUSED && silent.length < MOST_SILENT
}

/** The `err` of RFC 8935 §2.3; of anything else nothing. */
async function errOf(response: Response): Promise<string> {
  const said = parseJson(await response.text())
  const err = isObject(said) ? said['err'] : undefined
  return typeof err === 'string' && /^[a-z_]{1,40}$/.test(err) ? err : ''
}
