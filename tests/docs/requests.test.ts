/** docs/doors/requests.md: its pieces put together to a plugin, and its features, which are the strangers' own files. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { startServer } from '../support/server.ts'
import { answerOf, authorizationUrl, authorize, exchange, refresh, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'
import { checkout, openPage } from './page.ts'

test('a check and a parameter as they stand there; and the features are those that strangers install', async () => {
  const page = await openPage('doors/requests.md')
  const [check, rule, parameter] = [page.next('ts'), page.next('ts'), page.next('ts')]
  const [par, rar] = [page.next('ts'), page.next('ts')]
  page.end()
  for (const [feature, file] of [[par, 'par/par.ts'], [rar, 'rar/rar.ts']] as const)
    expect(feature).toBe(await readFile(join(checkout, 'tests/strangers', file), 'utf8')) // prettier-ignore

  const PLUGINS = join(await temporaryDirectory(), 'branches.ts')
  const head = `import { OAuthError, Type } from 'latchkey'\nexport default async function branches({ oauth }: any): Promise<void> {\n`
  const member = `oauth.extend('tokenResponse', ['branches'], async ({ parameters }: any) => ({ branches: parameters?.branches }))`
  await writeFile(PLUGINS, [head, check, rule, parameter, member, '}'].join('\n'))
  const server = await startServer({ PLUGINS }, { seed: SEED })

  const agent = createUserAgent(server.url)
  const stateless = answerOf(await agent.get(authorizationUrl(server, { state: undefined })))
  expect(stateless.get('error')).toBe('invalid_request')
  expect(findForm(await agent.get(authorizationUrl(server)), 'login')).toBeDefined()

  const answer = await authorize(server, { branches: 'north,south' }, agent)
  const first = (await (await exchange(server, answer.get('code')!)).json()) as Record<string, string>
  expect(first['branches']).toBe('north,south')
  const more = await refresh(server, first['refresh_token']!, { branches: 'north,west' })
  expect([more.status, await more.json()]).toMatchObject([400, { error: 'invalid_branches' }])
  const less = await refresh(server, first['refresh_token']!, { branches: 'north' })
  expect(await less.json()).toMatchObject({ branches: 'north' })
})
