/** docs/scim.md, as it stands there: a directory registers somebody and ends them. */
import { expect, test } from 'vitest'
import { basic } from '../support/requests.ts'
import { scimWith } from '../support/scim.ts'
import { startServer } from '../support/server.ts'
import { SEED, type Tokens } from '../support/sign-in.ts'
import { until } from '../support/until.ts'
import { openPage, sitDown, substitute } from './page.ts'

test('the commands of the page do what it says', async () => {
  const page = await openPage('scim.md')
  const [setting, register, first, lasting, group, error] = [
    page.next('ini'),
    page.next('sh'),
    page.next('sh'),
    page.next('sh'),
    page.next('sh'),
    page.next('json'),
  ]
  page.end()

  const [name = '', value = ''] = setting.trim().split('=')
  const server = await startServer({ [name]: value }, { seed: SEED })
  const desk = await sitDown(server.settings)
  const inPlace = { 'https://login.example.com': server.url }
  const token = `${register}\n${substitute(first, inPlace)}\n${group}\necho "$token"`
  const lines = (await desk.sh(token)).stdout.trim().split('\n')
  const { users } = server.server.oauth
  expect(await users.find('zoe@example.com')).toMatchObject({
    disabled: true,
    roles: ['Engineering-Team'],
    claims: { name: 'Zoe Example', email: 'zoe@example.com' },
  })
  const call = scimWith(server, lines.at(-1))
  const again = await call('POST', '/Users', { userName: 'zoe@example.com' })
  expect([again.status, again.body]).toEqual([409, JSON.parse(error)])

  await desk.sh(substitute(lasting, inPlace))
  const resource = await server.server.oauth.resources.findResource(`${server.url}/scim/v2`)
  expect(resource).toMatchObject({ access_token_lifetime: 15_552_000, access_token_format: 'opaque' })
  const { client_secret: secret } = JSON.parse((await desk.sh('cat directory.json')).stdout) as {
    client_secret: string
  }
  // What another process has changed is known here within two seconds.
  const opaque = await until(async () => {
    const answer = await server.post(
      '/token',
      { grant_type: 'client_credentials' },
      basic('directory', secret),
    )
    const { access_token, expires_in } = (await answer.json()) as Tokens
    expect([access_token.includes('.'), expires_in]).toEqual([false, 15_552_000])
    return access_token
  })
  expect((await scimWith(server, opaque)('GET', '/Users')).status).toBe(200)
})
