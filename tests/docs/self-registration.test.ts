/** docs/registration.md: its commands, and its request. */
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { SEED } from '../support/sign-in.ts'
import { openPage, sitDown, substitute } from './page.ts'

test('its token registers the app of its request, as its answer says, until it is deleted', async () => {
  const page = await openPage('registration.md')
  const [create, end, request, answer, issuers] = [
    page.next('sh'),
    page.next('sh'),
    page.next('http'),
    page.next('json'),
    page.next('sh'),
  ]
  page.end()
  const server = await startServer({ OIDC_REGISTRATION: 'token' }, { seed: SEED })
  const desk = await sitDown(server.settings)
  const { stdout } = await desk.sh(create)
  const [token = '', listed] = stdout.split('\n')
  expect(token).toMatch(/^lki_/)
  expect(listed).toMatch(/^name: partners {2}uses_left: 5 /)

  const [head = '', body = ''] = substitute(request, { INITIAL_TOKEN: token }).split('\n\n')
  const [first = '', ...lines] = head.split('\n')
  const [method = '', path = ''] = first.split(' ')
  const headers = Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]))
  const send = async () => server.request(path, { method, headers, body })
  const registered = await send()
  const told = (await registered.json()) as Record<string, unknown>
  const documented = JSON.parse(answer) as Record<string, unknown>
  expect([registered.status, Object.keys(told).toSorted()]).toEqual([201, Object.keys(documented).toSorted()])
  const same = [
    'client_name',
    'redirect_uris',
    'response_types',
    'grant_types',
    'scope',
    'client_secret_expires_at',
  ]
  for (const member of same) expect([member, told[member]]).toEqual([member, documented[member]])

  // A server that was given it would start.
  await desk.sh(`${issuers}export OIDC_SOFTWARE_STATEMENT_ISSUERS\nnpx latchkey initial-token list`)
  await desk.sh(end)
  expect((await send()).status).toBe(401)
})
