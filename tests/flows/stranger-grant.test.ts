/**
 * A plugin of people who know nothing of this checkout: it imports the installed package alone and adds a voucher
 * grant. Two processes of one database load it; then a server that runs from the package itself.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { type TestClient, requestToken, statusWith } from '../support/clients.ts'
import { compile, installStranger, pack, run } from '../support/packages.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import type { Requests } from '../support/requests.ts'
import { isActive, toClient } from '../support/service.ts'

const GRANT = 'urn:example:voucher'
const shop = {
  client_id: 'shop',
  client_secret: 'a secret that was chosen',
  grant_types: [GRANT, 'client_credentials'],
  scope: ['spend'],
}
const seed = { clients: [{ ...shop, voucher_limit: 50 }] }
const client = toClient(shop)

const packed = await pack('latchkey')
const folder = await installStranger('voucher', 'latchkey', packed, ['@types/node'])
const program = join(folder, 'node_modules/.bin/latchkey')
const settings = {
  PLUGINS: ['voucher.ts', 'counter.ts', 'journal.ts', 'curious.ts']
    .map((file) => join(folder, file))
    .join(','),
  OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false,
}
const one = await spawnServer(settings, { seed })
const two = await spawnBeside(one.settings, one.database)
const both = [one, two]
const compiling = compile(folder)
compiling.catch(() => {})

/** All that a plugin finds. */
const DOORS =
  'add admitClient artifacts audit authorizations checkSecret clientKeys clients config deliver endpoints enqueue enqueueOn extend extendClientMetadata ' +
  'fetch findClient findResource findScope findUser givenUpDeliveries idTokens isFromTrustedProxy issue issuer keys languages mail once owners parametersShownBy parseApproval parseOpenMetadata parseRequest readToken records register ' +
  'registerEndpoint registerGrant resources revoke revokeToken root secret selfRegistration sessions settings signStatement subjectOf throttle users verify'
/** And within these four. */
const WITHIN =
  'audit.activity audit.list audit.observe audit.on config.BRAND_NAME config.basePath config.production keys.algorithms keys.jwks keys.keys ' +
  'keys.provide keys.revoke keys.rotate sessions.endAll sessions.endOne sessions.isOpen sessions.list'

type Answer = Readonly<Record<string, unknown>> & { status: number }

async function answer(responding: Promise<Response>): Promise<Answer> {
  const response = await responding
  return { ...((await response.json()) as object), status: response.status }
}

async function giveVoucher(form: Record<string, string>, server: Requests = one): Promise<string> {
  return String((await answer(server.post('/vouchers', form, client.basic)))['voucher'])
}

const redeem = (voucher: string, server: Requests = one, by: TestClient = client): Promise<Answer> =>
  answer(requestToken(server, by, { grant_type: GRANT, voucher }))

/** The JSON that a `client` command answers. */
async function command(...args: string[]): Promise<Readonly<Record<string, unknown>>> {
  const { status, stdout, stderr } = await runCommand(['client', ...args], one.settings)
  expect({ status, stderr }).toMatchObject({ status: 0 })
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>
}

/** 50 requests for one voucher, in turn at either process. */
async function race(voucher: string): Promise<{ winners: Answer[]; losers: Answer[] }> {
  const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => redeem(voucher, both[at % 2])))
  return {
    winners: answers.filter(({ status }) => status === 200),
    losers: answers.filter(({ status }) => status !== 200),
  }
}

test('the package is JavaScript with declarations, templates, a README and a licence', () => {
  const code = /^dist\/(?:src|plugins)\/[\w/-]+(?:\.\d)?(?:\.js|\.d\.ts)$/
  const pages =
    /^dist\/templates\/(?:[\w-]+\.eta|mail\/[\w.-]+\.eta|assets\/[\w-]+\.(?:css|js|svg)|languages\/(?:README\.md|[\w-]+\/[\w-]+\.json))$/
  const others = packed.files.filter((file) => !code.test(file) && !pages.test(file))
  expect(others.toSorted()).toEqual(['LICENSE', 'README.md', 'bin/latchkey.js', 'package.json'])
})

test('no Node, PostgreSQL or test tools come along', async () => {
  const tree = await run('npm', ['ls', '--all', '--parseable'], folder)
  const names = tree.split('\n').map((path) => path.split('node_modules/').at(-1) ?? '')
  expect(names).toContain('pg')
  expect(
    names.filter((name) => /^node-(?:bin|linux|darwin)|embedded|vitest|oxlint|typescript/.test(name)),
  ).toEqual([])
})

test('strict projects of strangers compile against it, the declarations of libraries included', async () => {
  await compiling
})

test('importing it starts nothing', async () => {
  const script = `const { buildServer } = await import('latchkey'); console.log(typeof buildServer)`
  expect(await run(process.execPath, ['--input-type=module', '-e', script], folder)).toBe('function\n')
})

test('its grant and its endpoints are in the metadata', async () => {
  expect(await answer(two.get('/.well-known/oauth-authorization-server'))).toMatchObject({
    grant_types_supported: expect.arrayContaining(['client_credentials', GRANT]),
    voucher_endpoint: `${one.url}/vouchers`,
  })
})

test('a voucher gives a token, with a member of its own in the response', async () => {
  const response = await redeem(await giveVoucher({ value: '20' }), two)
  expect(response).toMatchObject({ status: 200, token_type: 'Bearer', scope: 'spend', voucher_value: 20 })
  for (const server of both)
    expect(await statusWith(server, '/treasury', String(response['access_token']))).toBe(200)
})

test('the token response of other grants stays as it was', async () => {
  const response = await answer(requestToken(one, client))
  expect(response.status).toBe(200)
  expect(Object.keys(response)).not.toContain('voucher_value')
})

test('its parameters are checked like ours', async () => {
  const missing = await answer(requestToken(one, client, { grant_type: GRANT }))
  expect(missing).toMatchObject({ status: 400, error: 'invalid_request' })
  const repeated = [
    ['grant_type', GRANT],
    ['voucher', 'a'],
    ['voucher', 'b'],
  ] as [string, string][]
  expect(await answer(requestToken(one, client, repeated))).toMatchObject({
    status: 400,
    error: 'invalid_request',
  })
})

test('its member of client metadata is known to the command line and to SEED_FILE', async () => {
  const member = ['--voucher-limit', '5', '--grant-types', GRANT, '--scope', 'spend']
  const [kiosk, seeded] = await Promise.all([
    command('create', '--client-id', 'kiosk', ...member, '--json'),
    command('show', 'shop', '--json'),
  ])
  expect(kiosk).toMatchObject({ client_id: 'kiosk', voucher_limit: 5 })
  expect(seeded).toMatchObject({ client_id: 'shop', voucher_limit: 50 })
  expect(await redeem(await giveVoucher({ value: '5' }), two, toClient(kiosk))).toMatchObject({ status: 200 })
})

test('an error of its own reaches the wire, and leaves the voucher unspent', async () => {
  const voucher = await giveVoucher({ value: '60' })
  expect(await redeem(voucher)).toEqual({
    status: 403,
    error: 'voucher_over_limit',
    error_description: 'the client may redeem up to 50',
  })
  expect(await command('update', 'shop', '--voucher-limit', '70', '--json')).toHaveProperty(
    'voucher_limit',
    70,
  )
  await expect.poll(async () => (await redeem(voucher, two)).status).toBe(200)
  expect(await redeem(voucher)).toMatchObject({ status: 400, error: 'invalid_grant' })
})

test('its page stands in our layout, under our policies, from the installed package', async () => {
  const page = await one.get('/counter/<ada>')
  const html = await page.text()
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(html).toContain('<title>Vouchers')
  expect(html).toContain('<bdi>&lt;ada&gt;</bdi>')
  const [style] = html.match(/\/assets\/style[^"]*/) ?? []
  expect((await one.get(style!)).headers.get('content-type')).toBe('text/css; charset=utf-8')
})

test('its refusals are our error page', async () => {
  const page = await two.get('/counter/nobody')
  expect(page.status).toBe(403)
  expect(await page.text()).toContain('<code id="error-code">no_customer</code>')
})

test('it hears what the server does, and its own events are in the audit log', async () => {
  await one.get('/journal/praise')
  await requestToken(one, client)
  const stored = [{ stars: 5 }]
  await expect.poll(async () => answer(one.get('/journal'))).toMatchObject({ stored })
  const { heard } = await answer(one.get('/journal'))
  expect(heard).toEqual(expect.arrayContaining(['*****', 'shop by client_credentials']))
})

test('it is given the doors and nothing behind them: no box, no database, no key that signs', async () => {
  const { members, within, keys } = (await answer(one.get('/curious'))) as unknown as {
    members: string[]
    within: string[]
    keys: string[]
  }
  expect(members.toSorted()).toEqual(DOORS.split(' '))
  expect(within.filter((name) => /^(?:config|sessions|audit|keys)\./.test(name)).toSorted()).toEqual(
    WITHIN.split(' '),
  )
  expect(new Set(keys)).toEqual(
    new Set(['kid', 'algorithm', 'predecessor', 'store', 'createdAt', 'signsFrom', 'retiresAt', 'revokedAt']),
  )
})

test('its own check of client metadata refuses what it refuses', async () => {
  const refused = await runCommand(['client', 'update', 'shop', '--voucher-limit', '101'], one.settings)
  expect(refused).toMatchObject({ status: 1, stderr: 'voucher_limit over 100 needs a client_name.\n' })
})

test('of 50 requests at two processes for one voucher, exactly one succeeds', async () => {
  const { winners, losers } = await race(await giveVoucher({ value: '1' }))
  expect(winners).toHaveLength(1)
  expect(new Set(losers.map(({ status, error }) => `${status} ${String(error)}`))).toEqual(
    new Set(['400 invalid_grant']),
  )
})

test('a voucher for a person: one Authorization is stored, and revoking it ends its tokens at both', async () => {
  const { winners, losers } = await race(await giveVoucher({ value: '1', subject: 'ada' }))
  expect(winners).toHaveLength(1)
  expect(losers.filter(({ status, error }) => status !== 400 || error !== 'invalid_grant')).toEqual([])
  const stored = await one.database.query('select client_id, subject, revoked_at from authorizations')
  expect(stored).toEqual([{ client_id: 'shop', subject: 'ada', revoked_at: null }])

  const token = String(winners[0]!['access_token'])
  for (const server of both) {
    expect(await answer(server.get('/treasury', { authorization: `Bearer ${token}` }))).toMatchObject({
      spender: 'ada',
    })
    expect(await isActive(server, client, token)).toBe(true)
  }
  expect(await answer(two.post('/vouchers/cancel', { token }, client.basic))).toEqual({
    status: 200,
    cancelled: true,
  })
  for (const server of both) {
    expect(await statusWith(server, '/treasury', token)).toBe(401)
    expect(await isActive(server, client, token)).toBe(false)
  }
})

test('two grants of one type: the start fails, and names it and the plugin that came second', async () => {
  const rival = join(folder, 'rival.ts')
  const plugins = `${settings.PLUGINS},${rival}`
  const { status, stderr } = await runCommand(['serve'], { ...one.settings, PLUGINS: plugins, PORT: 0 })
  expect(status).toBe(1)
  expect(stderr).toBe(`The plugin ${rival} is refused: The grant ${GRANT} is registered twice.\n`)
})

test('the installed command serves with the compiled plugin', async () => {
  await compiling
  const installed = await spawnServer({ PLUGINS: join(folder, 'out/voucher.js') }, { seed, program })
  const voucher = await giveVoucher({ value: '3' }, installed)
  expect(await redeem(voucher, installed)).toMatchObject({ status: 200, voucher_value: 3 })
  expect(await redeem(voucher, installed)).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await installed.stop()).toBe(0)
})

test('the installed command without a database says what it needs, in one sentence', async () => {
  const { status, stdout, stderr } = await runCommand(['serve'], {}, program)
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(
    /^There is no embedded PostgreSQL here \([^\n]+ is not installed\): set DATABASE_URL\.\n$/,
  )
})
