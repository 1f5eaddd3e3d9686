/**
 * docs/doors/pages.md, events.md, and what pages of people.md are served by: their pieces, put together to one plugin as they
 * stand there.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { OWN_EVENTS } from '../../src/events.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createClient, getToken } from '../support/clients.ts'
import { startServer } from '../support/server.ts'
import { ALICE, answerOf, authorizationUrl, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { checkout, openPage } from './page.ts'

test('the pieces make a plugin: a page, a section, a sign-up, an outcome, events', async () => {
  const pages = await openPage('doors/pages.md')
  const people = await openPage('doors/people.md')
  const heard = await openPage('doors/events.md')
  const [counter, counterTemplate, office, officeTemplate] = [
    pages.next('ts'),
    pages.next('html'),
    pages.next('ts'),
    pages.next('html'),
  ]
  pages.end()
  for (const language of ['ts', 'html', 'ts', 'eta', 'ts']) people.next(language)
  const [security, securityTemplate, link, signUp, signUpTemplate, outcome] = [
    people.next('ts'),
    people.next('html'),
    people.next('ts'),
    people.next('ts'),
    people.next('html'),
    people.next('ts'),
  ]
  const events = heard.next('ts')
  heard.end()

  const directory = await temporaryDirectory()
  const declarations: string[] = []
  const statements = [counter, office, security, link, signUp, outcome, events].map((piece) =>
    piece.replace(/^declare module[\s\S]*?^\}\n/gm, (declaration) => {
      declarations.push(declaration)
      return ''
    }),
  )
  expect(declarations).toHaveLength(5)
  const plugin = [
    `import { OAuthError, Type } from 'latchkey'`,
    ...declarations,
    'export default async function pieces(fastify: any): Promise<void> {',
    'const { oauth, pages, browser, interactions, account } = fastify',
    'const { basePath } = oauth.config',
    'const heard: string[] = []',
    ...statements.map((one) => one.replace('records<{ address: string }>', 'records')),
    `fastify.get('/heard', async () => heard)`,
    '}',
  ]
  const PLUGINS = join(directory, 'pieces.ts')
  const files = {
    'pieces.ts': plugin.join('\n'),
    'counter.eta': counterTemplate,
    'office.eta': officeTemplate,
    'office.js': '// Nothing yet.',
    'sign-up.eta': signUpTemplate,
    'backup-address.eta': securityTemplate,
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text)
  // Whose next step would come first.
  const WITHOUT = 'latchkey-second-factor'
  const server = await startServer({ PLUGINS, WITHOUT }, { seed: SEED })

  const shown = await (await server.get('/counter?customer=Ann')).text()
  expect(shown).toContain('<h1>Good morning, <bdi>Ann</bdi></h1>')

  const agent = createUserAgent(server.url)
  const login = await agent.get(`${server.url}/admin/vouchers`)
  const [, address] = /<a id="sign-up" href="([^"]+)"/.exec(login.body)!
  const form = await agent.get(new URL(address!.replaceAll('&amp;', '&'), server.url).href)
  const barred = await agent.submit(form, 'sign-up', { username: 'dora' })
  expect(barred.status).toBe(403)
  await server.server.oauth.users.update('dora', { roles: ['admin'] })
  const opened = await agent.get(`${server.url}/admin/vouchers`)
  expect(opened.body).toContain('<h1>Vouchers of <bdi>dora</bdi></h1>')
  const { body: shownSecurity } = await agent.get(`${server.url}/account/security`)
  expect(shownSecurity).toContain('<a href="/account/backup-address">Name a second address')
  expect(shownSecurity).toContain('<h2>Second address</h2>')
  const [script] = /\/assets\/office\.[0-9a-f]{12}\.js/.exec(opened.body)!
  expect((await server.get(script)).status).toBe(200)

  const client = await createClient(server, { scope: ['read'] })
  await getToken(server, client)
  expect(await (await server.get('/heard')).json()).toEqual([`${client.clientId} by client_credentials`])
})

test('the step asks once for the terms of use, after the sign-in', async () => {
  const people = await openPage('doors/people.md')
  const [step, template] = [people.next('ts'), people.next('html')]
  const [, declaration, statements] = /^(declare module[\s\S]*?^\}\n)([\s\S]*)$/m.exec(step)!
  const plugin = [
    `import { OAuthError } from 'latchkey'`,
    declaration,
    'export default async function terms({ oauth, pages }: any): Promise<void> {',
    statements!.replace('records<{ at: string }>', 'records'),
    '}',
  ]
  const directory = await temporaryDirectory()
  const PLUGINS = join(directory, 'terms.ts')
  await writeFile(PLUGINS, plugin.join('\n'))
  await writeFile(join(directory, 'terms.eta'), template)
  const server = await startServer({ PLUGINS }, { seed: SEED })

  const agent = createUserAgent(server.url)
  const asked = await goThrough(agent, await agent.get(authorizationUrl(server)))
  expect(asked.body).toContain('<h1>Terms of use</h1>')
  const answered = await goThrough(agent, await agent.submit(asked, 'terms', { agree: 'yes' }))
  expect(answerOf(answered).get('code')).not.toBeNull()
  const again = await goThrough(agent, await agent.get(authorizationUrl(server)))
  expect(answerOf(again).get('code')).not.toBeNull()
  const { id } = (await server.server.oauth.users.find(ALICE.username))!
  expect(JSON.stringify(await server.server.oauth.users.export(id))).toContain('"terms"')

  const other = createUserAgent(server.url)
  const bob = SEED.users[1]!
  const first = await goThrough(other, await other.get(authorizationUrl(server)), bob)
  expect(answerOf(await other.submit(first, 'terms', { agree: 'no' })).get('error')).toBe('access_denied')
})

test('the table of events has every type that there is', async () => {
  const page = await readFile(join(checkout, 'docs/doors/events.md'), 'utf8')
  const types = Object.keys(OWN_EVENTS)
  const table = page.slice(page.indexOf('| about'))
  const told = [...table.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(([, type]) => type!)
  expect(types.length).toBeGreaterThan(30)
  expect(told.toSorted()).toEqual(types.toSorted())
})
