/** What a plugin adds to what the server says: French of its own, and what is refused of it at the start. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { message } from '../../../src/protocol/message.ts'
import { createLanguage } from '../../../src/services/languages/language.ts'
import { temporaryDirectory } from '../../support/cleanup.ts'
import { openMailbox } from '../../support/mailbox.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, SEED } from '../../support/sign-in.ts'
import { createUserAgent } from '../../support/user-agent.ts'
import { ROOT, signedIn } from '../admin/administrator.ts'

/** As somebody else writes it, whom no compiler of ours reads. */
const FRENCH = `
import { message } from 'latchkey'

export default async function french({ oauth, letters, language, admin }) {
  oauth.languages.add('fr', { 'Sign in': 'Se connecter', Vouchers: 'Bons', 'Your voucher, {name}': 'Votre bon, {name}' })
  oauth.languages.add('en', { 'voucher.spent': 'Voucher spent' })
  oauth.languages.add('fr', { 'voucher.spent': 'Bon dépensé' })
  admin.addSection({ text: message('Vouchers'), path: '/vouchers' })
  oauth.registerEndpoint({
    path: '/voucher',
    caller: 'anybody',
    parameters: { type: 'object', properties: { user: { type: 'string' } } },
    async handle({ user: name }) {
      const user = await oauth.users.find(name)
      oauth.audit.observe({ type: 'voucher.spent', user: user.id, details: {} })
      const reader = await language.readerOf(user)
      const subject = message('Your voucher, {name}', { name })
      await letters.send(user.claims.email, { subject, paragraphs: [subject], button: null, otherwise: subject }, reader)
      return { said: (await oauth.languages.of(reader)).say(subject), spoken: oauth.languages.tags }
    },
  })
}
`

async function pluginOf(source: string): Promise<string> {
  const file = join(await temporaryDirectory(), 'stranger.js')
  await writeFile(file, source)
  return file
}

const adding = async (statements: string): Promise<unknown> =>
  startServer({
    PLUGINS: await pluginOf(`export default async function stranger({ oauth }) { ${statements} }`),
  })

test('its words stand on our pages, in its mails and in its answers, in French before English', async () => {
  const seed = { ...SEED, users: [{ ...ALICE, locale: 'fr-CA' }, ROOT] }
  const server = await startServer({ PLUGINS: await pluginOf(FRENCH), UI_LOCALES: 'fr,en' }, { seed })
  const agent = createUserAgent(server.url, { 'accept-language': 'de' })
  const login = await agent.get(authorizationUrl(server))
  expect(login.body).toContain('<html lang="fr">')
  expect(login.body).toContain('<h1>Se connecter</h1>')
  // What it has no words for is in English.
  expect(login.body).toContain('User name or email')

  const response = await server.post('/voucher', { user: 'alice' })
  expect(await response.json()).toEqual({ said: 'Votre bon, alice', spoken: ['fr', 'en'] })
  expect((await openMailbox(server).next(ALICE.email)).subject).toBe('Votre bon, alice')

  // What is observed is stored behind the request.
  const noted = async () => (await server.server.oauth.audit.list({ type: 'voucher.spent' })).events.length
  await expect.poll(noted).toBe(1)
  const root = await signedIn(server)
  const french = await root.get(`${server.url}/admin/audit?type=voucher.spent`)
  expect(french.body).toContain('<strong>Bon dépensé</strong>')
  expect(french.body).toContain('<a href="/admin/vouchers">Bons</a>')
  await server.server.oauth.users.update('root', { locale: 'en' })
  const english = await root.get(`${server.url}/admin/audit?type=voucher.spent`)
  expect(english.body).toContain('<strong>Voucher spent</strong>')
})

describe('what could not be said ends the start, with the message that it is about:', () => {
  test.each([
    [`oauth.languages.add('français', {})`, '"français" is no language tag, such as fr or pt-BR.'],
    [`oauth.languages.add('fr-x', {})`, '"fr-x" is no language tag, such as fr or pt-BR.'],
    [`oauth.languages.add('fr-FR-FR', {})`, '"fr-FR-FR" is no language tag, such as fr or pt-BR.'],
    [`oauth.languages.add('fr')`, 'The catalogue of fr must be an object of texts by their English.'],
    [`oauth.languages.add('fr', ['Sign in'])`, 'The catalogue of fr must be an object'],
    [`oauth.languages.add('fr', { 'Sign in': 7 })`, 'The catalogue of fr: "Sign in" must have a text.'],
    [`oauth.languages.add('fr', { 'Sign in': '{' })`, '"Sign in" is not in ICU MessageFormat ('],
    [`oauth.languages.add('fr', { 'At {time}': 'À {time, time}' })`, '"At {time}" has a format that messages have not.'],
    [`oauth.languages.add('fr', { 'Hello {name}': 'Salut {nom}' })`, '"Hello {name}" is said without {nom}.'],
    [`oauth.languages.add('fr', { 'Hello <b>x</b>': '<i>x</i>' })`, '"Hello <b>x</b>" is said without <i>.'],
    [`oauth.languages.add('fr', { '{n, number} left': 'Reste : {n, number}', 'Of {n}': '{m, number}' })`, '"Of {n}" is said without {m}.'],
    [`oauth.languages.add('fr', { 'Hello {': 'Salut' })`, '"Hello {" is not in ICU MessageFormat ('],
  ])('%s', async (statements, sentence) => {
    await expect(adding(statements)).rejects.toThrow(sentence)
  }) // prettier-ignore

  test('later than the start', async () => {
    const server = await startServer()
    expect(() => server.server.oauth.languages.add('fr', {})).toThrow(
      'The catalogue of fr must be registered before the server is ready.',
    )
  })
})

test.each(['constructor', '__proto__', 'toString'])(
  'a choice by a text that is %s takes the other one',
  (name) => {
    const find = () => '{name, select, root {Chef} other {{name}}}'
    const language = createLanguage({ tag: 'fr', region: 'fr', zone: null, find })
    expect(language.say(message('Signed in as {name}', { name }))).toBe(name)
    expect(language.say(message('Signed in as {name}', { name: 'root' }))).toBe('Chef')
  },
)
