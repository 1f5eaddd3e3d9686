/** docs/implicit.md, as it stands there: the setting, the command, the request and what comes back. */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { ALICE, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { openPage, sitDown } from './page.ts'

test('an old app is registered and gets an ID token with the answer', async () => {
  const page = await openPage('implicit.md')
  const [setting, command, request, answer] = [
    page.next('ini'),
    page.next('sh'),
    page.next('http'),
    page.next('http'),
  ]
  page.end()

  const server = await startServer(Object.fromEntries([setting.trim().split('=')]), { seed: SEED })
  await (await sitDown(server.settings)).sh(command)
  await expect.poll(async () => server.server.oauth.findClient('intranet')).not.toBeNull()

  const [, path] = /^GET (\S+) HTTP/.exec(request)!
  const agent = createUserAgent(server.url)
  const told = await goThrough(agent, await agent.get(server.url + path!))
  const [, shown] = /^Location: (\S+)$/m.exec(answer)!
  const [given, expected] = [told.headers.get('location')!, shown!].map((location) => {
    const [address, fragment] = location.split('#')
    return { address, members: Object.fromEntries(new URLSearchParams(fragment)) }
  })
  const { id_token: idToken, ...rest } = given!.members
  expect([told.status, given!.address, { ...rest, id_token: expected!.members['id_token'] }]).toEqual([
    303,
    expected!.address,
    { ...expected!.members, iss: server.url },
  ])
  expect(decodeJwt(idToken!)).toMatchObject({ aud: 'intranet', nonce: 'n-0S6_WzA2Mj', email: ALICE.email })
})
