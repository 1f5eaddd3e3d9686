/** Whatever is sent to SCIM, it is answered in its form, and never with a fault. `FUZZ_RUNS=10000` sends as much. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ENTERPRISE, ERROR, GROUP, scimAs, startScim, USER } from '../../support/scim.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 300)
const server = await startScim({ LOG_LEVEL: 'warn' })
const call = await scimAs(server, 'directory')
const { id } = (await server.server.oauth.users.find('alice'))!
const { body: group } = await call('POST', '/Groups', { displayName: 'Anything' })

const NAMES = ['userName', 'name', 'name.familyName', 'displayName', 'active', 'emails', 'emails.value', 'emails[type eq "work"]', 'emails[type eq "work"].value', 'emails[primary eq true].type', 'phoneNumbers', 'photos', 'addresses', 'addresses[type eq "work"].country', 'roles', 'roles[value eq "a"]', 'password', 'externalId', 'meta', 'id', 'schemas', 'groups', 'title', 'members', 'members.value', `members[value eq "${id}"]`, 'members[type eq "User"].value', 'locale', 'timezone', 'profileUrl', 'nickName', `${USER}:locale`, `${ENTERPRISE}:department`, '__proto__', 'constructor', 'toString', '', '[', '.', 'a.b.c'] // prettier-ignore
const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(id, 'a@b.example', 'True', 'false', 'x'.repeat(3000), 'http://[', '\u0000', '2026-01-01T00:00:00Z', ...NAMES),
) // prettier-ignore
const name = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...NAMES) }, { weight: 1, arbitrary: text })
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    fc.boolean(),
    fc.constant(null),
    fc.double(),
    fc.dictionary(fc.oneof(fc.constantFrom('value', 'type', 'primary', 'familyName', 'formatted', 'country', '$ref'), name), tie('value'), { maxKeys: 4 }),
    fc.array(tie('value'), { maxLength: 4 }),
  ),
})) // prettier-ignore
const resource = fc
  .tuple(fc.dictionary(name, value, { maxKeys: 6 }), fc.option(fc.string({ minLength: 1, maxLength: 20 })))
  .map(([members, userName]) => ({ schemas: [USER], ...(userName === null ? {} : { userName }), ...members }))
const groupResource = fc
  .tuple(fc.dictionary(name, value, { maxKeys: 4 }), fc.option(text), fc.option(fc.array(fc.oneof(fc.constant({ value: id }), value))))
  .map(([others, displayName, members]) => ({ schemas: [GROUP], ...others, displayName, members })) // prettier-ignore
const operation = fc.record(
  { op: fc.oneof(fc.constantFrom('add', 'Replace', 'remove'), text), path: fc.oneof(name, value), value },
  { requiredKeys: ['op'] },
)
const patch = fc.record({ Operations: fc.oneof(fc.array(operation, { maxLength: 4 }), value) })
const compared = fc.oneof(text.map((one) => JSON.stringify(one)), fc.constantFrom('true', 'false', 'null', '7', '-1e9', '"', '')) // prettier-ignore
const condition = fc
  .tuple(
    name,
    fc.constantFrom('eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le', 'pr', 'is', ''),
    compared,
  )
  .map((parts) => parts.join(' '))
const filter = fc.oneof(
  condition,
  fc.tuple(condition, fc.constantFrom('and', 'or', ')'), condition).map((parts) => parts.join(' ')),
  condition.map((one) => `not (${one})`),
  condition.map((one) => `emails[${one}]`),
  text,
)
const list = fc.dictionary(
  fc.constantFrom('filter', 'startIndex', 'count', 'cursor', 'attributes', 'excludedAttributes', 'sortBy'),
  fc.oneof(filter, text, fc.integer().map(String)),
)

test.each<[string, string, fc.Arbitrary<unknown>]>([
  ['POST', '/Users', resource],
  ['PUT', `/Users/${id}`, resource],
  ['PATCH', `/Users/${id}`, patch],
  ['POST', '/Users/.search', fc.oneof(list, value)],
  ['POST', '/Groups', groupResource],
  ['PUT', `/Groups/${group.id}`, groupResource],
  ['PATCH', `/Groups/${group.id}`, patch],
  ['POST', '/.search', list],
  ['GET', '/Groups', filter.map((one) => ({ filter: one }))],
  ['GET', '/Users', list],
  ['GET', '/Users', filter.map((one) => ({ filter: one }))],
])('%s %s', { timeout: 600_000 }, async (method, path, sent) => {
  await fc.assert(
    fc.asyncProperty(sent, fc.boolean(), async (body, whole) => {
      const query = method === 'GET' ? `?${new URLSearchParams(body as Record<string, string>).toString()}` : whole ? '' : '?attributes=userName'
      const answer = await call(method, path + query, method === 'GET' ? undefined : body)
      expect(answer.status).toBeLessThan(500)
      expect(answer.headers.get('content-type')).toBe('application/scim+json')
      if (answer.status >= 400) expect(answer.body).toMatchObject({ schemas: [ERROR], status: String(answer.status), detail: expect.any(String) }) // oxlint-disable-line vitest/no-conditional-expect -- the other answers are what they are.
    }),
    { numRuns: RUNS },
  )
  expect(server.output()).not.toMatch(/"level":(?:50|"error")/)
}) // prettier-ignore
