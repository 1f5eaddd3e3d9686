/** What goes on under TLS begins there: nothing that was said before it is heard (RFC 4511 §4.14). @needs latchkey-ldap */
import { beforeAll, expect, test } from 'vitest'
import { withConnection } from '../../../plugins/ldap/connection.ts'
import { parseConfig } from '../../../src/config.ts'
import { ldapConfig } from '../../../src/settings/ldap.ts'
import { certify, createAuthority, type TestCertificate } from '../../support/certificates.ts'
import { done, entry, type Question, startLyingDirectory } from '../../support/lying-directory.ts'

let authority: TestCertificate
let certificate: TestCertificate

beforeAll(async () => {
  authority = await createAuthority('the authority of the directory')
  certificate = await certify('/CN=localhost', {
    issuer: authority,
    extensions: ['basicConstraints = critical, CA:FALSE', 'subjectAltName = IP:127.0.0.1'],
  })
})

const MALLORY = 'uid=mallory,dc=example,dc=org'

/** Whom a search finds, of a directory whose answer to StartTLS goes on so; and what it was asked. */
async function search(goOn: (question: Question) => readonly Buffer[], code = 0) {
  const asked: string[] = []
  const { url } = await startLyingDirectory((question) => {
    asked.push(question.operation)
    if (question.operation === 'extended') return [done(question, code), ...goOn(question)]
    return [entry(question, 'uid=ada,dc=example,dc=org', { uid: 'ada' }), done(question)]
  }, certificate)
  const settings = { LDAP_URL: url, LDAP_CA_FILE: authority.files.cert, LDAP_BASE_DN: 'dc=example,dc=org' }
  const found = withConnection(ldapConfig(parseConfig(settings, []))!, async ({ client }) => {
    const { searchEntries } = await client.search('dc=example,dc=org', { filter: '(uid=ada)' })
    return searchEntries.map(({ dn }) => dn)
  })
  return { found, asked }
}

test('an honest directory is asked under TLS', async () => {
  const { found, asked } = await search(() => [])
  expect(await found).toEqual(['uid=ada,dc=example,dc=org'])
  expect(asked).toEqual(['extended', 'search'])
})

/** The answer to the next question, and a beginning that takes the honest one that comes after it for its own end. */
const injected = (question: Question): Buffer[] => {
  const next = { ...question, operation: 'search', id: question.id + 1 } as const
  return [entry(next, MALLORY, { uid: 'ada' }), done(next), Buffer.from([0x30, 0x40, 0x02, 0x01])]
}

test.each([
  ['whole', (question: Question) => injected(question).slice(0, 2)],
  ['begun', (question: Question) => injected(question).slice(2)],
  ['of one letter', () => [Buffer.from([0x30])]],
])('a message that was injected before it, %s, ends the connection', async (_which, goOn) => {
  const { found, asked } = await search(goOn)
  await expect(found).rejects.toThrow('before TLS')
  expect(asked).toEqual(['extended'])
})

test('one that will not is not asked without', async () => {
  const { found, asked } = await search(() => [], 52)
  await expect(found).rejects.toThrow('0x34')
  expect(asked).toEqual(['extended'])
})
