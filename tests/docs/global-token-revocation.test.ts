/** docs/global-token-revocation.md, as it stands there: a program has everything of somebody ended, and Okta is registered. @needs latchkey-global-token-revocation latchkey-upstreams */
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { getTokens, SEED } from '../support/sign-in.ts'
import { until } from '../support/until.ts'
import { openPage, sitDown, substitute } from './page.ts'

test('the commands of the page do what it says', async () => {
  const page = await openPage('global-token-revocation.md')
  const [setting, byHand, register, revoke, okta] = [
    page.next('ini'),
    page.next('sh'),
    page.next('sh'),
    page.next('sh'),
    page.next('sh'),
  ]
  page.end()

  const [name = '', value = ''] = setting.trim().split('=')
  const server = await startServer({ [name]: value }, { seed: SEED })
  const desk = await sitDown(server.settings)
  const isGood = async (token: string) => (await server.get('/userinfo', bearer(token))).status === 200
  const { access_token: former } = await getTokens(server)
  expect(await isGood(former)).toBe(true)
  await desk.sh(byHand)
  await until(async () => expect(await isGood(former)).toBe(false))

  const { access_token: token } = await getTokens(server)
  const command = `${register}\n${substitute(revoke, { 'https://login.example.com': server.url })}`
  expect((await desk.sh(command)).stdout.trim().split('\n').at(-1)).toBe('204')
  expect(await isGood(token)).toBe(false)

  await desk.sh(okta)
  await until(async () =>
    expect(await kernelOf(server.server).upstreams.all()).toMatchObject([
      { id: 'okta', issuer: 'https://corp.okta.com' },
    ]),
  )
})
