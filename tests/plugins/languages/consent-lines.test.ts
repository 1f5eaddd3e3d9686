/** Lines of consent: read in the language of the page, remembered in English, and shown in the language of who looks at them later. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { message } from '../../../src/protocol/message.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, goThrough, SEED } from '../../support/sign-in.ts'
import { createUserAgent, type Page } from '../../support/user-agent.ts'

const server = await startServer(
  {},
  {
    seed: SEED,
    extend(fastify) {
      const { oauth } = fastify
      kernelOf(fastify).languages.add('de', {
        '{count, plural, one {# seat} other {# seats}}': '{count, plural, one {# Platz} other {# Plätze}}',
        'The lamp': 'Die Lampe',
      })
      const seats = (count: string) =>
        message('{count, plural, one {# seat} other {# seats}}', { count: Number(count) })
      oauth.add('parameter', {
        name: 'seats',
        schema: Type.String(),
        consent: (value) => [{ key: String(value), text: seats(String(value)) }],
        wordsOf: (key) => (/^\d+$/.test(key) ? seats(key) : undefined),
      })
      // Of a plugin that knows nothing of languages.
      oauth.add('parameter', {
        name: 'light',
        schema: Type.String(),
        consent: (value) => [{ key: String(value), text: `The ${String(value)}` }],
      })
    },
  },
)
const { consents, users } = kernelOf(server.server)
const { id } = (await users.find(ALICE.username))!

/** Texts of the page, without what stands around them. */
const textsOf = ({ body }: Page): string[] =>
  [...body.matchAll(/<li><strong>(.*?)<\/strong>/g)].map(([, text = '']) => text.replaceAll(/<\/?bdi>/g, ''))

const asked = {
  scope: 'openid read_books',
  seats: '2',
  claims: JSON.stringify({ userinfo: { picture: null, 'name#fr': null, department: null } }),
}
const GERMAN = ['Ihr Bild', 'Ihr vollständiger Name (fr)', '„department“ aus Ihrem Profil', '2 Plätze']
const ENGLISH = ['Your picture', 'Your full name (fr)', '“department” of your profile', '2 seats']

test('read in German, remembered in English, and shown in whichever language is read', async () => {
  const german = createUserAgent(server.url, { 'accept-language': 'de' })
  const login = await german.get(authorizationUrl(server, { ...asked, light: 'lamp' }))
  const page = await german.submit(login, 'login', { username: ALICE.username, password: ALICE.password })
  expect(textsOf(page)).toEqual([...GERMAN, 'Die Lampe', 'Ihre Bücher lesen'])
  await goThrough(german, page)

  const { lines } = await consents.find(id, { clientId: 'web' })
  expect([...lines.values()].toSorted()).toEqual([...ENGLISH, 'The lamp'].toSorted())
  const [{ lines: exported } = { lines: [] }] = (await users.export(id))['apps'] as { lines: string[] }[]
  expect(exported.toSorted()).toEqual([...ENGLISH, 'The lamp'].toSorted())

  const own = async (language: string) => {
    const agent = createUserAgent(server.url, { 'accept-language': language })
    agent.cookies.set('latchkey-session', german.cookies.get('latchkey-session')!)
    return textsOf(await agent.get(`${server.url}/account/apps`)).toSorted()
  }
  expect(await own('de')).toEqual([...GERMAN, 'Die Lampe', 'Ihre Bücher lesen'].toSorted())
  expect(await own('en')).toEqual([...ENGLISH, 'The lamp', 'Read your books'].toSorted())
})

test('what is remembered whose parameter is gone, or knows nothing of it, is shown as it is', async () => {
  await server.database.query(
    `update consents set lines = '{"gone:1": "The text of then", "seats:all": "All seats", "claims:email": "Your email address"}'`,
  )
  const [{ lines } = { lines: [] }] = await consents.list(id)
  expect(lines).toEqual([
    { text: 'The text of then', words: 'The text of then' },
    { text: 'All seats', words: 'All seats' },
    { text: 'Your email address', words: message('Your email address') },
  ])
})
