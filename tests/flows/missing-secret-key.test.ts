/**
 * A former SECRET_KEY that left the list too early: a start is refused in one sentence where it needs what the key sealed, and every other thing
 * that is stored under it becomes a refusal that people understand, which the log and `doctor` explain to the operator. Nothing is a failure.
 * @needs latchkey-second-factor, latchkey-upstreams, latchkey-passkeys, latchkey-own-data
 */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { createSecretBox } from '../../src/services/keys/secret-box.ts'
import { codeOf, recoveryCodesOn } from '../support/authenticator.ts'
import { assertionOf, askWith } from '../support/client-assertions.ts'
import { requestToken, type TestClient } from '../support/clients.ts'
import { runCommandHere } from '../support/command-here.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { addressWith } from '../support/pushed.ts'
import { bearer } from '../support/requests.ts'
import { CAROL, makeSealed, startUnder } from '../support/sealed-things.ts'
import type { TestServer } from '../support/server.ts'
import { ALICE, authorizationUrl, BOB } from '../support/sign-in.ts'
import { startUpstream, traveller, type Traveller, type Upstream } from '../support/upstreams.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'
import { freePort } from '../support/settings.ts'

const [former, fresh] = [1, 2].map(() => randomBytes(32).toString('hex')) as [string, string]
/** Names of the server's own secrets that a start asked for, each of which it refused. */
const refused: string[] = []
/** What was made under the former key. */
let made: Awaited<ReturnType<typeof makeSealed>>
let database: TestDatabase
let upstream: Upstream
let server: TestServer

beforeAll(async () => {
  const port = await freePort()
  database = await createDatabase()
  upstream = await startUpstream('corp', `http://localhost:${port}`, [CAROL], {
    sign_up: true,
    sign_out: true,
    trust_email: true,
    domains: ['example.com'],
  })
  await upstream.server.server.oauth.clients.update(upstream['client_id'] as string, {
    post_logout_redirect_uris: [`http://localhost:${port}/upstream/corp/signed-out`],
  })
  server = await startUnder(former, port, database, upstream)
  made = await makeSealed(server, upstream)
  await server.close()
  // As if everything that a start brings under the first key had been made after it.
  const [old, now] = [createSecretBox([former]), createSecretBox([fresh])]
  for (const { kid, private_jwk: sealed } of await database.query(
    'select kid, private_jwk from signing_keys',
  ))
    await database.query('update signing_keys set private_jwk = $2 where kid = $1', [
      kid,
      now.seal(old.open(sealed as string, kid as string), kid as string),
    ])
  for (;;) {
    try {
      server = await startUnder(fresh, port, database, upstream)
      break
    } catch (error) {
      const { message } = error as Error
      const [, name] =
        /^SECRET_KEY: the secret (\S+) cannot be decrypted with it; put the key it was made with into the list: SECRET_KEY takes several, separated by commas, the new one first\. A development start made one in DATA_DIR\/secret-key\.$/.exec(
          message,
        ) ?? []
      if (name === undefined || refused.includes(name)) throw error
      refused.push(name)
      const [row] = await database.query('select sealed from server_secrets where name = $1', [name])
      await database.query('update server_secrets set sealed = $2 where name = $1', [
        name,
        now.seal(old.open(row!['sealed'] as string, name), name),
      ])
    }
  }
})
afterAll(async () => database.drop())

test('a start asks for every secret of the server that is stored, and is refused where one cannot be read', async () => {
  const stored = await database.query('select name from server_secrets')
  expect(refused.toSorted()).toEqual(stored.map(({ name }) => name as string).toSorted())
  expect(refused).toEqual(
    expect.arrayContaining(['passkey-user-handles', 'registration-tokens', 'upstream-flows']),
  )
})

test('doctor says of each kind that its key is missing, and what to do', async () => {
  const { status, stdout } = await runCommandHere(['doctor'], server.settings)
  expect(status).toBe(1)
  for (const what of ['records of users', 'records of plugins', 'client secrets', 'secrets of upstreams'])
    expect(stdout).toMatch(
      new RegExp(
        `^fail  SECRET_KEY: \\d+ ${what}(?: \\(of [^\n]*\\))? were made with a key that is not in the list: put it back there\\.$`,
        'm',
      ),
    )
})

const CODES = 'Codes cannot be checked at the moment'
const says = ({ status, body }: Page): [number, string | undefined] => [status, /<h1>([^<]*)/.exec(body)?.[1]]
const enter = async (agent: UserAgent) =>
  agent.submit(await agent.get(`${server.url}/account`), 'login', {
    username: ALICE.username,
    password: ALICE.password,
  })

/** What each kind of thing that the former key sealed becomes: asserts the answer, and names what the log says of it. */
const KINDS: Readonly<Record<string, () => Promise<RegExp | void>>> = {
  'the code of an authenticator app': async () => {
    const agent = createUserAgent(server.url)
    const page = await agent.submit(await enter(agent), 'second-factor', {
      code: codeOf(made.factor.secret, 1),
      remember: 'yes',
    })
    expect(says(page)).toEqual([403, 'Confirm it is you'])
    expect(page.body).toContain(CODES)
    expect(findForm(page, 'second-factor')).toBeDefined()
    expect((await agent.get(`${server.url}/account`)).body).toContain('id="second-factor"')
    return /the record authenticator of the user \S+ cannot be decrypted/
  },
  'a recovery code': async () => {
    const agent = createUserAgent(server.url)
    const page = await agent.get(`${(await enter(agent)).url}&way=recovery`)
    const given = await agent.submit(page, 'second-factor', { code: made.factor.codes[0]! })
    expect(given.status).toBe(403)
    expect(given.body).toContain(CODES)
    return /the record recovery-codes of the user \S+ cannot be decrypted/
  },
  'the page of the account that shows them, whose owner is signed in': async () => {
    const page = await made.alice.get(`${server.url}/account/security`)
    expect(page.status).toBe(200)
    expect(page.body).toContain(CODES)
    const data = await made.alice.get(`${server.url}/account/data`)
    expect(data.status).toBe(200)
    const taken = await made.alice.get(`${server.url}/account/data/download`)
    expect(JSON.parse(taken.body)).toBeTypeOf('object')
    const codes = await made.alice.submit(
      await made.alice.get(`${server.url}/account/security/recovery-codes`),
      'make-recovery-codes',
    )
    expect(recoveryCodesOn(codes)).toHaveLength(10)
    const removed = await made.alice.submit(
      await made.alice.get(`${server.url}/account/security`),
      'remove-totp',
    )
    expect(removed.body).toContain('The authenticator app is removed')
  },
  'a record of a plugin': async () => {
    const response = await server.post('/stranger', {})
    expect([response.status, await response.json()]).toEqual([
      403,
      { error: 'access_denied', error_description: expect.stringContaining('cannot be read') },
    ])
    return /the record stranger one cannot be decrypted/
  },
  'a record of a plugin of a user': async () => {
    expect((await server.post('/stranger', { user: made.bob })).status).toBe(403)
    return /the record stranger of the user \S+ cannot be decrypted/
  },
  'a request that was pushed': async () => {
    const page = await createUserAgent(server.url).get(server.url + addressWith(made.pushed))
    expect(page.status).toBe(400)
  },
  'a sign-in under way': async () => {
    const page = await made.interaction.submit(made.page, 'login', {
      username: BOB.username,
      password: BOB.password,
    })
    expect([page.status >= 400, page.status < 500]).toEqual([true, true])
    const again = await made.interaction.get(made.page.url)
    expect([again.status >= 400, again.status < 500]).toEqual([true, true])
  },
  'a sign-in by an upstream under way': async () => {
    const page = await made.onTheWay.here.get(made.arriving)
    expect([page.status >= 400, page.status < 500]).toEqual([true, true])
  },
  'the secret by which an upstream knows us': async () => {
    const who: Traveller = traveller(server, upstream)
    const page = await who.here.submit(await who.here.get(authorizationUrl(server)), 'upstreams', {
      upstream: 'corp',
    })
    expect([page.status < 500, findForm(page, 'login') !== undefined]).toEqual([true, true])
    expect(page.body).toMatch(/class="alert"/)
    return /the secret of the upstream corp cannot be decrypted/
  },
  'the ID token by which somebody signs out at an upstream': async () => {
    const page = await made.who.here.submit(await made.who.here.get(`${server.url}/account`), 'sign-out-form')
    expect(page.status).toBe(200)
    expect((await made.who.here.get(`${server.url}/account`)).body).toContain('id="login"')
  },
  'a new secret for an upstream, on its page': async () => {
    await kernelOf(server.server).upstreams.save({ id: 'corp', client_secret: 'another secret' })
    await kernelOf(server.server).upstreams.save({ id: 'corp', client_secret: 'another secret' })
  },
  'the hash of a generated client secret': async () => {
    const response = await requestToken(server, made.hashed)
    expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([
      401,
      'invalid_client',
    ])
  },
  'the secret of client_secret_jwt': async () => {
    const { clientId, clientSecret }: TestClient = made.sealed
    const assertion = await assertionOf(
      { alg: 'HS256', privateKey: Buffer.from(clientSecret) },
      clientId,
      server.url,
    )
    expect(await askWith(assertion, server)).toMatchObject({ status: 401, error: 'invalid_client' })
    return /the secret of a client cannot be decrypted/
  },
  'a client that registered itself': async () => {
    const { registration_client_uri: at = '', registration_access_token: token = '' } = made.registered
    const response = await fetch(at, { headers: bearer(token) })
    expect(response.status).toBeLessThan(500)
  },
  'a secret that is shown once': async () => {
    const page = await made.secretForm.agent.get(made.shownOnce)
    expect(page.status).toBeLessThan(500)
    expect(page.body).not.toContain('lks_')
  },
  'links by mail': async () => {
    for (const [path, token] of Object.entries(made.links)) {
      const page = await createUserAgent(server.url).get(`${server.url}${path}?token=${token}`)
      expect([path, page.status < 500]).toEqual([path, true])
    }
  },
}

describe('under the new key alone', () => {
  test.each(Object.entries(KINDS))('%s', async (_name, look) => {
    const from = server.output().length
    const expected = await look()
    const said = server.output().slice(from)
    expect(said).toMatch(expected ?? '')
    expect(said).not.toContain('request failed')
  })

  test('people read of a page that nothing is lost, and whom to tell', async () => {
    const page = await createUserAgent(server.url).get(`${server.url}/stranger-page`)
    expect(says(page)).toEqual([403, 'This cannot be read at the moment'])
    expect(page.body).toContain('Nothing is lost, and it is not your fault: tell whoever runs this service.')
  })

  test('all of it is back once the key is', async () => {
    const { port } = new URL(server.url)
    await server.close()
    server = await startUnder(`${fresh},${former}`, Number(port), database, upstream)
    expect((await server.post('/stranger', {})).status).toBe(200)
    expect((await requestToken(server, made.hashed)).status).toBe(200)
    expect((await server.post('/stranger', { user: made.bob })).status).toBe(200)
  })
})
