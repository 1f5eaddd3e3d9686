/** What a receiver does: gets a token for itself, has a stream, asks for a verification, and takes what comes. It knows no address but those of the metadata. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { basic, bearer } from '../../support/requests.ts'
import { app, CREDENTIAL_CHANGE, POLL, PUSH, SESSION_REVOKED } from '../../support/shared-signals.ts'
import { until } from '../../support/until.ts'
import type { SsfSuite } from './suite.ts'

export interface SsfAnswer {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- what is in it, the checks say.
  readonly body: any
}

/** A suite with a token of its receiver. */
export interface Caller extends SsfSuite {
  readonly token?: string | undefined
}

export interface SentStream {
  readonly description?: string
  readonly events_requested: readonly string[]
  readonly delivery: {
    readonly method: string
    readonly endpoint_url?: string
    readonly authorization_header?: string
  }
}

export interface SsfStream extends SentStream {
  readonly stream_id: string
  readonly aud: string | readonly string[]
  readonly events_supported: readonly string[]
  readonly events_delivered: readonly string[]
  readonly delivery: { readonly method: string; readonly endpoint_url: string }
}

/** CAEP Interoperability Profile §3; this server has nothing to say of the last. */
export const REQUESTED = [
  SESSION_REVOKED,
  CREDENTIAL_CHANGE,
  'https://schemas.openid.net/secevent/caep/event-type/device-compliance-change',
]

export const METHODS = { push: PUSH, poll: POLL } as const

/** A client that authenticates in the header and names itself in the form, too. */
async function callerWith(suite: SsfSuite, scope: string): Promise<Caller> {
  const form = { grant_type: 'client_credentials', scope, client_id: suite.client }
  const answer = await suite.server.post('/token', form, basic(suite.client, app('').client_secret))
  const tokens = (await answer.json()) as { access_token: string; expires_in: number; scope: string }
  expect([answer.status, tokens.scope]).toEqual([200, scope])
  // CAEP Interoperability Profile §2.7.1: short.
  expect(tokens.expires_in).toBeLessThanOrEqual(3600)
  return { ...suite, token: tokens.access_token }
}

export const manage = (suite: SsfSuite): Promise<Caller> => callerWith(suite, 'ssf.read ssf.manage')
export const onlyRead = (suite: SsfSuite): Promise<Caller> => callerWith(suite, 'ssf.read')
/** Not even the characters of a token. */
export const intruder = (suite: SsfSuite): Caller => ({ ...suite, token: `invalid:${randomUUID()}` })

export async function send(
  { token }: Caller,
  method: string,
  address: string,
  body?: unknown,
  more: Record<string, string> = {},
): Promise<SsfAnswer> {
  const answer = await fetch(address, {
    method,
    headers: {
      accept: 'application/json',
      ...(token === undefined ? {} : bearer(token)),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...more,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
}

export function withId(address: string, streamId: string): string {
  return `${address}?stream_id=${encodeURIComponent(streamId)}`
}

export function configurationOf({ mode, host }: SsfSuite, header?: string): SentStream {
  const endpoint_url = `http://127.0.0.1:${host.port}/${randomUUID()}/ssf-push`
  return {
    description: 'Stream of a check',
    events_requested: REQUESTED,
    delivery:
      mode === 'poll'
        ? { method: POLL }
        : {
            method: PUSH,
            endpoint_url,
            ...(header === undefined ? {} : { authorization_header: header }),
          },
  }
}

export async function create(caller: Caller, sent = configurationOf(caller)): Promise<SsfStream> {
  const answer = await send(caller, 'POST', caller.metadata.configuration_endpoint, sent)
  expect(answer).toMatchObject({ status: 201, body: { iss: caller.metadata.issuer } })
  return answer.body as SsfStream
}

export async function remove(caller: Caller, { stream_id }: SsfStream): Promise<void> {
  const address = withId(caller.metadata.configuration_endpoint, stream_id)
  expect(await send(caller, 'DELETE', address)).toMatchObject({ status: 204, body: null })
}

/** The `stream_id` of a stream that was. */
export async function createAndRemove(caller: Caller): Promise<string> {
  const stream = await create(caller)
  await remove(caller, stream)
  return stream.stream_id
}

export async function list(caller: Caller): Promise<readonly SsfStream[]> {
  const answer = await send(caller, 'GET', caller.metadata.configuration_endpoint)
  expect([answer.status, Array.isArray(answer.body)]).toEqual([200, true])
  return answer.body as SsfStream[]
}

export async function deleteAll(caller: Caller): Promise<void> {
  for (const stream of await list(caller)) await remove(caller, stream)
}

export async function setStatus(caller: Caller, { stream_id }: SsfStream, status: string): Promise<void> {
  const { status_endpoint } = caller.metadata
  // The Foundation's suite names the stream in the address, too.
  const answer = await send(caller, 'POST', withId(status_endpoint, stream_id), {
    stream_id,
    status,
    reason: `A check makes it ${status}`,
  })
  expect(answer).toMatchObject({ status: 200, body: { status } })
  expect((await send(caller, 'GET', withId(status_endpoint, stream_id))).body).toEqual(answer.body)
}

/** The `state` that comes back. The interval between two is waited for by turning the clock of the stream back. */
export async function verify(caller: Caller, { stream_id }: SsfStream): Promise<string> {
  const { streams } = caller.server.server.sharedSignals
  await streams.change(caller.client, stream_id, ({ verifiedAt: _before, ...rest }) => rest)
  const state = randomUUID()
  const answer = await send(caller, 'POST', caller.metadata.verification_endpoint, { stream_id, state })
  expect(answer).toMatchObject({ status: 204, body: null })
  return state
}

export interface PollRequest {
  readonly maxEvents?: number
  readonly returnImmediately?: boolean
  readonly ack?: readonly string[]
  readonly setErrs?: Readonly<Record<string, { err: string; description: string }>>
}

/** What waits, by the `jti` of each: an answer as RFC 8936 §2.3 has it. */
export async function poll(
  caller: Caller,
  { delivery }: SsfStream,
  asked: PollRequest = {},
): Promise<Readonly<Record<string, string>>> {
  const { maxEvents, ...rest } = { maxEvents: 10, returnImmediately: true, ...asked }
  const language = asked.setErrs === undefined ? {} : { 'content-language': 'en-US' }
  const answer = await send(caller, 'POST', delivery.endpoint_url, { maxEvents, ...rest }, language)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json'])
  const { sets, moreAvailable = false } = answer.body as { sets: Record<string, string>; moreAvailable?: unknown }
  expect(moreAvailable).toBeTypeOf('boolean')
  const found = Object.values(sets)
  for (const set of found) expect(set).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
  expect(found.length).toBeLessThanOrEqual(maxEvents)
  return sets
} // prettier-ignore

/**
 * What was pushed to the address of the stream until now, each once: as RFC 8935 §2.1 has it, and with the header that its receiver wants, or none.
 */
export function pushedTo({ host }: SsfSuite, { delivery }: SsfStream, header?: string): string[] {
  const { pathname } = new URL(delivery.endpoint_url)
  const requests = host.received.filter(({ url }) => url === pathname)
  for (const { method, headers } of requests) {
    expect(method).toBe('POST')
    expect(headers).toMatchObject({
      'content-type': 'application/secevent+jwt',
      accept: 'application/json',
    })
    expect(headers.authorization).toBe(header)
  }
  return [...new Set(requests.map(({ body }) => body))]
}

/** Nothing is under way to the plan's receiver. */
export async function untilQuiet({ server, client }: SsfSuite): Promise<void> {
  const count = `select from outbox where recipient = '${client}' and given_up_at is null`
  await until(async () => expect(await server.database.query(count)).toEqual([]))
}
