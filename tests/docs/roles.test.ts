/** docs/roles.md, as it stands there: an app is told the roles of somebody. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { basic, bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { authorize, SEED, type Tokens } from '../support/sign-in.ts'
import { until } from '../support/until.ts'
import { openPage, sitDown } from './page.ts'

test('the commands of the page do what it says', async () => {
  const page = await openPage('roles.md')
  const [setting, register, claims, members] = [
    page.next('ini'),
    page.next('sh'),
    page.next('json'),
    page.next('sh'),
  ]
  page.end()

  const [name = '', value = ''] = setting.trim().split('=')
  const server = await startServer({ [name]: value }, { seed: SEED })
  const desk = await sitDown(server.settings)
  await desk.sh(register)
  const { client_secret: secret } = JSON.parse(await readFile(join(desk.directory, 'wiki.json'), 'utf8')) as {
    client_secret: string
  }
  await until(async () => expect(await server.server.oauth.findClient('wiki')).not.toBeNull())

  const asked = {
    client_id: 'wiki',
    redirect_uri: 'https://wiki.example.com/callback',
    scope: 'openid groups',
  }
  const zoe = { username: 'zoe', password: 'a password of zoe' }
  const code = (await authorize(server, asked, undefined, zoe)).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: asked.redirect_uri }
  const answer = await server.post('/token', form, basic('wiki', secret))
  const { access_token, id_token } = (await answer.json()) as Tokens
  const userinfo = (await (await server.get('/userinfo', bearer(access_token))).json()) as object
  for (const told of [userinfo, decodeJwt(id_token), decodeJwt(access_token)])
    expect(told).toMatchObject(JSON.parse(claims) as object)

  const { stdout: told } = await desk.sh(members)
  expect(told).toContain('reviewer  1')
  const { events } = await server.server.oauth.audit.list({ type: 'user.changed' })
  expect(events.map(({ details }) => details)).toEqual(
    [
      [
        ['editor', 'staff', 'approver'],
        ['editor', 'staff'],
      ],
      [
        ['editor', 'staff', 'reviewer'],
        ['editor', 'staff', 'approver'],
      ],
      [
        ['editor', 'staff'],
        ['editor', 'staff', 'reviewer'],
      ],
    ].map((roles) => ({ changes: { roles } })),
  )
})
