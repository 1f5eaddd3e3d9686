/** The use cases of the CAEP Interoperability Profile (§3) that this server has: it is asked to tell, and does. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { CREDENTIAL_CHANGE, SESSION_REVOKED, signInTo } from '../../../support/shared-signals.ts'
import { until } from '../../../support/until.ts'
import type { SsfChecks } from '../plan.ts'
import {
  configurationOf,
  create,
  manage,
  poll,
  pushedTo,
  remove,
  send,
  verify,
  withId,
  type Caller,
  type SsfStream,
} from '../receiver.ts'
import { judged, verificationOf, type SsfEvent } from '../sets.ts'

const HEADER = 'Bearer push_token_of_the_profile'

/** CAEP 1.0 §2. */
const COMMON = ['event_timestamp', 'initiating_entity', 'reason_admin', 'reason_user']
/** CAEP 1.0 §3.3. */
const CREDENTIAL_TYPES = [
  'password', 'pin', 'x509', 'fido2-platform', 'fido2-roaming', 'fido-u2f', 'verifiable-credential', 'phone-voice',
  'phone-sms', 'app',
] // prettier-ignore
const CHANGE_TYPES = ['create', 'revoke', 'update', 'delete']

function expectCommon({ type, payload }: SsfEvent): void {
  const { event_timestamp, initiating_entity, reason_admin } = payload
  expect(event_timestamp).toBeTypeOf('number')
  expect(['admin', 'user', 'policy', 'system']).toContain(initiating_entity)
  // Which the profile wants of each, by its language (§3.1, §3.2).
  const reasons = Object.entries(reason_admin as object)
  expect(reasons).not.toEqual([])
  for (const reason of reasons)
    expect(reason).toEqual([expect.stringMatching(/^[a-z]{2,3}(?:-|$)/), expect.any(String)])
  const own = type === CREDENTIAL_CHANGE ? ['credential_type', 'change_type'] : []
  expect([...COMMON, ...own]).toEqual(expect.arrayContaining(Object.keys(payload)))
}

/** By `email` or `iss_sub` (§2.5); in a complex one, which the suite warns of alone, its user. */
function expectPerson({ subject }: SsfEvent, sub: string, { issuer }: { issuer: string }): void {
  const person = { format: 'iss_sub', iss: issuer, sub }
  expect(subject['format'] === 'complex' ? subject['user'] : subject).toEqual(person)
}

/** All that has come since, each once. By poll it is acknowledged with the next question. */
function createTaking(caller: Caller, stream: SsfStream): () => Promise<readonly SsfEvent[]> {
  const came = new Map<string, SsfEvent>()
  let ack: string[] = []
  return async () => {
    const sets =
      caller.mode === 'poll'
        ? await poll(caller, stream, { ack })
        : Object.fromEntries(pushedTo(caller, stream, HEADER).map((set) => [set, set]))
    ack = Object.keys(sets)
    for (const [name, set] of Object.entries(sets))
      if (!came.has(name)) came.set(name, await judged(caller, stream, set))
    return [...came.values()]
  }
}

export const interop = {
  async 'transmitter-stream-caep-interop'(suite) {
    const { metadata, server, client } = suite
    const caller = await manage(suite)
    const stream = await create(caller, configurationOf(suite, HEADER))
    expect(stream.events_delivered).toEqual([SESSION_REVOKED, CREDENTIAL_CHANGE])
    const { stream_id } = stream
    expect(await send(caller, 'GET', withId(metadata.configuration_endpoint, stream_id))).toMatchObject({
      status: 200,
      body: stream,
    })
    expect((await send(caller, 'GET', withId(metadata.status_endpoint, stream_id))).status).toBe(200)
    const state = await verify(caller, stream)

    const { users, sessions } = server.server.oauth
    const person = { username: randomUUID(), password: 'a long enough password' }
    const { id } = await users.create(person)
    const { sub, sid } = await signInTo(server, client, person)
    await sessions.endOne(id, sid)
    await users.setPassword(person.username, 'another long password')

    const take = createTaking(caller, stream)
    const came = await until(async () => {
      const taken = await take()
      const types = new Set(taken.map(({ type }) => type))
      expect([...types]).toEqual(expect.arrayContaining([SESSION_REVOKED, CREDENTIAL_CHANGE]))
      return taken
    })
    expect(came).toContainEqual(verificationOf(stream, state))
    for (const event of came.filter(({ type }) => stream.events_delivered.includes(type))) {
      expectCommon(event)
      expectPerson(event, sub, metadata)
      if (event.type !== CREDENTIAL_CHANGE) continue
      expect(CREDENTIAL_TYPES).toContain(event.payload['credential_type'])
      expect(CHANGE_TYPES).toContain(event.payload['change_type'])
    }
    await remove(caller, stream)
  },
} satisfies SsfChecks
