/** Security Event Tokens, as the Foundation's suite judges each that comes, whatever it tells of. */
import { createRemoteJWKSet, jwtVerify, type JWTPayload } from 'jose'
import { expect } from 'vitest'
import { VERIFICATION } from '../../support/shared-signals.ts'
import type { SsfStream } from './receiver.ts'
import type { SsfSuite } from './suite.ts'

export interface SsfEvent {
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly subject: Readonly<Record<string, unknown>>
}

/** RFC 9493 §3.2: these members, and no others. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  email: ['email'],
  iss_sub: ['iss', 'sub'],
  opaque: ['id'],
}
/** SSF 1.0 §3.3. */
const PARTS = ['user', 'device', 'session', 'application', 'tenant', 'org_unit', 'group']

function expectSubject(subject: Readonly<Record<string, unknown>>): void {
  const { format, ...members } = subject
  if (format !== 'complex') {
    expect(Object.keys(members).toSorted()).toEqual(MEMBERS[String(format)])
    for (const value of Object.values(members)) expect(value).toEqual(expect.stringMatching(/./))
    return
  }
  expect(members).not.toEqual({})
  for (const [name, part] of Object.entries(members as Record<string, Record<string, unknown>>)) {
    expect(PARTS).toContain(name)
    expect(part['format']).not.toBe('complex')
    expectSubject(part)
  }
}

/** What it tells. Its keys are read anew each time, as after a rotation. */
export async function judged({ metadata }: SsfSuite, stream: SsfStream, set: string): Promise<SsfEvent> {
  const keys = createRemoteJWKSet(new URL(metadata.jwks_uri))
  const { payload, protectedHeader } = await jwtVerify(set, keys)
  expect(protectedHeader).toMatchObject({ alg: 'RS256', typ: 'secevent+jwt' })
  // SSF 1.0 §4.1.
  expect(payload).not.toHaveProperty('sub')
  expect(payload).not.toHaveProperty('exp')
  expect(payload.iss).toBe(metadata.issuer)
  expect(payload.iat! * 1000).toBeLessThanOrEqual(Date.now())
  expect([stream.aud].flat()).toEqual(expect.arrayContaining([payload.aud].flat()))
  for (const name of ['jti', 'txn']) expect(payload[name]).toEqual(expect.stringMatching(/./))
  const { events, sub_id: subject } = payload as JWTPayload & {
    events: Record<string, SsfEvent['payload']>
    sub_id: SsfEvent['subject']
  }
  expectSubject(subject)
  const told = Object.entries(events)
  expect(told).toEqual([[expect.any(String), expect.any(Object)]])
  const [[type, event]] = told as [[string, SsfEvent['payload']]]
  return { type, payload: event, subject }
}

/** By poll, where each is named by its `jti`. */
export async function judgedAll(
  suite: SsfSuite,
  stream: SsfStream,
  sets: Readonly<Record<string, string>>,
): Promise<readonly SsfEvent[]> {
  return Promise.all(Object.values(sets).map(async (set) => judged(suite, stream, set)))
}

/** SSF 1.0 §8.1.4.1: of the stream itself, with the `state` of who asked. */
export function verificationOf({ stream_id }: SsfStream, state: string): SsfEvent {
  return { type: VERIFICATION, payload: { state }, subject: { format: 'opaque', id: stream_id } }
}
