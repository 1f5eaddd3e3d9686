/** By what an entry is known again, also where its directory keeps bytes there that are no text. @needs latchkey-ldap */
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createDirectory } from '../../../plugins/ldap/directory.ts'
import { parseConfig } from '../../../src/config.ts'
import { ldapConfig } from '../../../src/settings/ldap.ts'
import { done, entry, startLyingDirectory } from '../../support/lying-directory.ts'

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')
/** In pairs that would be one, were they read as text, and beside them the text that looks like what is kept. */
const VALUES: Readonly<Record<string, string | Buffer>> = {
  ada: bytes('f3a91c80b2fe4d9ee1c7a4d05b6f9310'),
  eve: bytes('f3a91c81b2fe4d9ee1c7a4d05b6f9310'),
  mallory: '#f3a91c80b2fe4d9ee1c7a4d05b6f9310',
  nul: bytes('6e0075006c006c00'),
  zoe: 'zoë-1',
  replaced: '\ufffd',
  lone: bytes('eda080'),
}

/** Whom a question names, by their uid or by what they keep for ever. */
async function directoryBy(attribute: string) {
  const { url } = await startLyingDirectory((question) => {
    if (question.operation === 'bind') return [done(question)]
    const asks = (what: string | Buffer): boolean =>
      question.text.includes(Buffer.from(what as string).toString('latin1'))
    const found = Object.entries(VALUES).filter(([uid, value]) => asks(uid) || asks(value))
    const entries = found.map(([uid, value]) =>
      entry(question, `uid=${uid},dc=example,dc=org`, { uid, [attribute]: value }),
    )
    return [...entries, done(question)]
  })
  const settings = {
    LDAP_URL: url,
    LDAP_START_TLS: 'false',
    LDAP_BASE_DN: 'dc=example,dc=org',
    LDAP_ID_ATTRIBUTE: attribute,
  }
  return createDirectory(ldapConfig(parseConfig(settings, []))!, pino({ level: 'silent' }))
}

test.each(['GUID', 'objectGUID'])('two entries are two people, and each is found again, by %s', async (attribute) => {
  const directory = await directoryBy(attribute)
  const subjects = new Map<string, string>()
  for (const uid of Object.keys(VALUES)) {
    const found = await directory.find(uid)
    subjects.set(found!.subject, uid)
    expect(await directory.get(found!.subject)).toMatchObject({ username: uid, subject: found!.subject })
  }
  expect([...subjects.values()]).toEqual(Object.keys(VALUES))
  expect(JSON.stringify([...subjects.keys()])).not.toContain('\\u0000')
}) // prettier-ignore

test('what is text is kept as it is', async () => {
  const directory = await directoryBy('GUID')
  expect(await directory.find('zoe')).toMatchObject({ subject: 'zoë-1' })
})
