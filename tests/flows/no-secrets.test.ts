/** One long run at LOG_LEVEL=trace, then a search for every secret it used: not in the database, not in a log. */
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createSecretBox } from '../../src/services/keys/secret-box.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { type TestClient, requestToken } from '../support/clients.ts'
import { exchangeAs, refreshAs } from '../support/code-flow.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { createDatabase } from '../support/database.ts'
import { runCommandHere } from '../support/command-here.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { sendRaw } from '../support/raw-http.ts'
import { basic, bearer } from '../support/requests.ts'
import { GUARDED, GUARDED_SCOPE, getAccessToken, revoke, toClient } from '../support/service.ts'
import { answerOf, authorizationUrl, createPkce, goThrough, type Tokens, WEB } from '../support/sign-in.ts'
import { dump, findSecrets } from '../support/traces.ts'
import { createUserAgent, type Page, type UserAgent } from '../support/user-agent.ts'

/** Everything that must be found nowhere, by what it is. */
const secrets = new Map<string, string>()
/** Everything that was written for people or sent to strangers. */
const written: string[] = []

function secret(name: string, value = `${randomBytes(15).toString('base64')} "ü%`): string {
  secrets.set(name, value)
  return value
}

async function run(args: string[], settings: object, showsSecret = false): Promise<string> {
  const runIt = args[0] === 'serve' ? runCommand : runCommandHere
  const { stdout, stderr } = await runIt(args, settings as Record<string, string>)
  written.push(stderr, ...(showsSecret ? [] : [stdout]))
  return stdout
}

/** A request that is refused; what it is told is searched too. */
async function refused(answer: Promise<Response>): Promise<void> {
  const response = await answer
  written.push(await response.text(), JSON.stringify([...response.headers]))
  expect(response.status).toBeGreaterThanOrEqual(400)
}

const database = await createDatabase()
const proxy = await startDatabaseProxy(database.url)
const password = secret('database password', randomBytes(15).toString('hex'))
const url = new URL(proxy.url)
url.password = password
const SECRET_KEY = secret('SECRET_KEY', randomBytes(24).toString('base64url'))
const seeded = { client_id: 'seeded', client_secret: secret('seeded secret'), scope: [GUARDED_SCOPE] }
const web = { ...WEB, client_secret: secret('secret of a web app'), access_token_format: 'opaque' }
const person = { username: 'person', password: secret('password of a person') }
const seed = {
  clients: [
    web,
    { ...web, client_id: 'signs', access_token_format: 'jwt' },
    { ...seeded, client_secrt: secret('misspelt member') },
  ],
  users: [
    person,
    { username: 'seeded', password: secret('seeded password'), passwrod: secret('misspelt password') },
  ],
  tokens: [secret('unknown section')],
}
const settings = { PLUGINS: GUARDED, DATABASE_URL: url.href, SECRET_KEY, LOG_LEVEL: 'trace' }
const server = await spawnServer(settings, { database, seed })

test('commands: secrets that are made, chosen, rotated and refused', async () => {
  const scope = ['--scope', GUARDED_SCOPE, '--json']
  const made = JSON.parse(await run(['client', 'create', ...scope], server.settings, true))
  const chosen = secret('chosen secret')
  await run(
    ['client', 'create', '--client-id', 'chosen', '--client-secret', chosen, ...scope],
    server.settings,
  )
  await run(['client', 'create', '--client-id', 'chosen', '--client-secret', chosen], server.settings)
  await run(['client', 'create', '--metadata', `{"client_secret": ${chosen}`], server.settings)
  const id = made.client_id as string
  const rotated = JSON.parse(await run(['client', 'rotate-secret', id, '--json'], server.settings, true))
  secret('generated secret', made.client_secret)
  secret('rotated secret', rotated.client_secret)
  await run(['client', 'show', id], server.settings)
  await run(['client', 'list', '--json'], server.settings)
  await run(['key', 'rotate'], server.settings)
  await run(['user', 'create', 'chosen', '--password', secret('chosen password')], server.settings)
  await run(['user', 'create', 'chosen', '--password', secret('password of nobody')], server.settings)
  await run(['user', 'create', 'short', '--password', secret('short password', '1.Wort!')], server.settings)
  const user = JSON.parse(await run(['user', 'set-password', 'chosen', '--json'], server.settings, true))
  secret('generated password', user.password)
  await run(['user', 'list', '--json'], server.settings)
  expect(rotated.client_secret).toMatch(/^lks_/)
})

test('starts that are refused', async () => {
  const directory = await temporaryDirectory()
  const broken = join(directory, 'broken.json')
  await writeFile(broken, `{"clients": [{"client_secret": "${secret('broken file', 'p'.repeat(30))}"`)
  const bad = join(directory, 'bad.json')
  await writeFile(bad, JSON.stringify({ clients: [{ ...seeded, redirect_uris: ['relative'] }] }))
  const nowhere = `postgresql://postgres:${password}@127.0.0.1:1/none`
  const wrong = [
    { SEED_FILE: broken },
    { SEED_FILE: bad },
    { DATABASE_URL: nowhere },
    { DATABASE_URL: `postgresql://postgres:${password}@[/none` },
    { SECRET_KEY: secret('short SECRET_KEY', 'too-short-to-be-good') },
    { SECRET_KEY: secret('other SECRET_KEY', randomBytes(24).toString('base64url')) },
  ]
  for (const one of wrong) await run(['serve'], { ...server.settings, PORT: undefined, ...one })
})

test('requests: tokens used, given back and refused', async () => {
  const jwt = async (client: TestClient) => getAccessToken(server, client)
  const client = toClient(seeded)
  const opaque = toClient({ client_id: 'opaque', client_secret: secret('opaque client') })
  await run(
    ['client', 'create', '--client-id', 'opaque', '--client-secret', opaque.clientSecret]
      .concat(['--access-token-format', 'opaque', '--scope', GUARDED_SCOPE]),
    server.settings, true,
  ) // prettier-ignore
  for (const one of [client, opaque]) {
    const token = secret(`token of ${one.clientId}`, await jwt(one))
    secret(`end of the token of ${one.clientId}`, token.slice(-40))
    await server.get('/shelf', bearer(token))
    const stored = await server.request('/tickets', { method: 'POST', headers: bearer(token) })
    secret(`ticket of ${one.clientId}`, ((await stored.json()) as { ticket: string }).ticket)
    await server.post('/introspect', { token }, one.basic)
    await refused(server.get(`/shelf?access_token=${token}`))
    await refused(server.get(`/nowhere/${token}?token=${token}`, bearer(token)))
    await refused(server.get(`/fault?token=${token}`, bearer(token)))
    await refused(server.post('/introspect', [['token', token], ['token', token]], one.basic)) // prettier-ignore
    await revoke(server, one, token)
    await refused(server.get('/shelf', bearer(token)))
  }
  const wrong = secret('wrong secret')
  await refused(requestToken(server, { ...client, basic: basic('seeded', wrong) }))
  await refused(requestToken(server, { ...client, basic: basic(wrong, wrong) }))
  await refused(requestToken(server, { ...client, basic: basic('seeded', `${wrong}\0`) }))
  const form = { client_id: 'seeded', client_secret: wrong, grant_type: wrong }
  await refused(server.post('/token', form))
  await refused(server.post('/token', { ...form, client_secret: seeded.client_secret }))
  await refused(server.post('/token', form, client.basic))
  await refused(server.post(`/token?client_secret=${encodeURIComponent(wrong)}`, form))
  await refused(server.get(`/token?${new URLSearchParams(form).toString()}`))
  await refused(server.request('/token', { method: 'POST', body: JSON.stringify(form) }))
  const json = { method: 'POST', headers: { 'content-type': 'application/json' } }
  await refused(server.request('/token', { ...json, body: `{"client_secret": "${wrong}` }))
  const garbled = `POST /token?client_secret=${encodeURIComponent(wrong)} HTTP/1.1\r\nhost: x\r\nbad header ${basic('seeded', wrong).authorization}\r\n\r\n`
  written.push((await sendRaw(server.url, garbled)).text)
})

/** What a browser holds and sends. */
function secretsOfBrowser(name: string, { cookies }: UserAgent, page: Page): void {
  for (const [cookie, value] of cookies) secret(`${cookie} ${name}`, value)
  const [, id, sealed] = /\/interaction\/([\w-]+)\?request=([\w.-]+)/.exec(page.url) ?? []
  if (id !== undefined && sealed !== undefined) {
    secret(`interaction ${name}`, id)
    secret(`sealed interaction ${name}`, sealed)
  }
  const csrf = /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1]
  if (csrf !== undefined) secret(`CSRF token ${name}`, csrf)
}

function secretsOfTokens(name: string, tokens: Tokens): Tokens {
  for (const kind of ['access_token', 'refresh_token', 'id_token'] as const) {
    secret(`${kind} ${name}`, tokens[kind])
    secret(`end of ${kind} ${name}`, tokens[kind].slice(-40))
  }
  return tokens
}

test.each([web.client_id, 'signs'])(
  'people: signing in, codes and tokens of the client %s',
  async (client_id) => {
    const client = toClient({ ...web, client_id })
    const agent = createUserAgent(server.url)
    const { verifier: code_verifier, challenge } = createPkce()
    const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
    secret(`verifier of ${client_id}`, code_verifier)
    let page = await agent.get(authorizationUrl(server, { client_id, ...pkce }))
    secretsOfBrowser(`before sign-in, ${client_id}`, agent, page)
    const typed = secret(`password typed as a user name, ${client_id}`)
    page = await agent.submit(page, 'login', { username: typed, password: 'x' })
    page = await agent.submit(page, 'login', { ...person, password: secret(`wrong password, ${client_id}`) })
    page = await agent.post(page.url, { csrf_token: 'forged', password: person.password })
    page = await agent.get(authorizationUrl(server, { client_id, ...pkce }))
    page = await agent.submit(page, 'login', person)
    secretsOfBrowser(`after sign-in, ${client_id}`, agent, page)
    const code = secret(`code of ${client_id}`, answerOf(await goThrough(agent, page, person)).get('code')!)

    await refused(server.get(`/token?code=${code}&code_verifier=${code_verifier}`))
    await exchangeAs(server, client, code)
    await exchangeAs(server, toClient(seeded), code, { code_verifier })
    proxy.cutAt('authorization-code-find', 'before')
    await exchangeAs(server, client, code, { code_verifier })
    const first = secretsOfTokens(
      `at first, ${client_id}`,
      (await exchangeAs(server, client, code, { code_verifier })).tokens,
    )
    await refreshAs(server, client, first.refresh_token, { scope: 'unheard-of' })
    const { tokens } = await refreshAs(server, client, first.refresh_token)
    secretsOfTokens(`refreshed, ${client_id}`, tokens)
    await server.get(`/userinfo?access_token=${tokens.access_token}`)
    await refused(server.get(`/userinfo?access_token=${tokens.access_token}&access_token=x`))
    await server.get(`/end-session?id_token_hint=${tokens.id_token}`)
    const last = await refreshAs(server, client, tokens.refresh_token)
    secretsOfTokens(`at last, ${client_id}`, last.tokens)
    expect(await refreshAs(server, client, first.refresh_token)).toMatchObject({ error: 'invalid_grant' })
    expect(await exchangeAs(server, client, code, { code_verifier })).toMatchObject({
      error: 'invalid_grant',
    })
    await refused(server.get(`/userinfo?access_token=${tokens.access_token}`))
  },
)

test('database errors', async () => {
  const opaque = toClient({ client_id: 'opaque', client_secret: secrets.get('opaque client') })
  const token = secret('token before the failure', await getAccessToken(server, opaque))
  const agent = createUserAgent(server.url)
  const getCode = async () =>
    answerOf(await goThrough(agent, await agent.get(authorizationUrl(server)), person)).get('code')!
  const code = secret('code before the failure', await getCode())
  const { tokens } = await exchangeAs(server, toClient(web), await getCode())
  secretsOfTokens('before the failure', tokens)
  const tables = [
    'access_tokens',
    'client_secrets',
    'artifacts',
    'refresh_tokens',
    'authorization_codes',
    'sessions',
  ]
  for (const table of tables)
    await database.query(`alter table ${table} add constraint never check (false) not valid`)
  await refused(requestToken(server, opaque))
  const asked = await agent.get(authorizationUrl(server, { prompt: 'consent' }))
  const failures = [
    await exchangeAs(server, toClient(web), code),
    await refreshAs(server, toClient(web), tokens.refresh_token),
    await agent.get(authorizationUrl(server)),
    await agent.submit(asked, 'consent', { decision: 'allow' }),
  ]
  expect(failures.map(({ status }) => status)).toEqual([500, 500, 500, 500])
  written.push(JSON.stringify(failures))
  await refused(server.request('/tickets', { method: 'POST', headers: bearer(token) }))
  const chosen = secret('secret that could not be stored')
  await run(['client', 'create', '--client-secret', chosen, '--scope', 'a'], server.settings)
  await database.query(`alter table users add constraint never check (false) not valid`)
  const password = secret('password that could not be stored')
  await run(['user', 'set-password', 'chosen', '--password', password], server.settings)
  await proxy.cut()
  await refused(server.post('/introspect', { token }, opaque.basic))
  await refused(server.get('/shelf', bearer(token)))
  await refused(revoke(server, opaque, token))
  await refused(requestToken(server, toClient({ client_id: 'who', client_secret: chosen })))
  await run(['client', 'list'], server.settings)
  await proxy.restore()
})

test('C3: no secret of the run is in the database, in a log, or in an answer to somebody else', async () => {
  for (const { kid, private_jwk } of await database.query('select kid, private_jwk from signing_keys')) {
    const jwk = JSON.parse(createSecretBox([SECRET_KEY]).open(private_jwk, kid)) as { d: string }
    secret(`private key ${kid}`, jwk.d)
    secret(`bytes of the private key ${kid}`, Buffer.from(jwk.d, 'base64url').toString('hex'))
  }
  expect(await server.stop()).toBe(0)
  const stored = await dump(database)
  const logged = server.output() + written.join('\n')

  // The search itself works, and what was searched is what was meant.
  for (const [name, value] of secrets) {
    const leaked = `${basic('x', value).authorization} ${JSON.stringify({ value })} ${encodeURIComponent(value)}`
    const forms = ['raw', 'base64', 'percent'].map((form) => `${name} (${form})`)
    expect(findSecrets(leaked, secrets)).toEqual(expect.arrayContaining(forms))
  }
  expect(stored).toContain('"client_id":"opaque"')
  expect(logged).toContain('"status":401')
  expect(logged).toContain('a fault of the plugin')
  expect(logged).toContain('PostgreSQL refused: 23514')
  expect(secrets.size).toBeGreaterThan(20)
  const names = [...secrets.keys()].join('\n')
  for (const kind of [
    'CSRF token',
    'interaction',
    'latchkey-session',
    'code of',
    'refresh_token',
    'id_token',
  ])
    expect(names).toContain(kind)

  expect(findSecrets(stored, secrets)).toEqual([])
  expect(findSecrets(logged, secrets)).toEqual([])
})
