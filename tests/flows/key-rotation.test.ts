/** Signing keys come and go while processes sign: nobody's token is ever refused for it. */
import { fastify } from 'fastify'
import { decodeProtectedHeader } from 'jose'
import { expect, test } from 'vitest'
import requireScope from '../../plugins/require-scope/index.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { spawnBeside } from '../support/beside.ts'
import { createClient } from '../support/clients.ts'
import { createDatabase } from '../support/database.ts'
import { underLoad } from '../support/load.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { type Requests, requestsTo } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import {
  GUARDED,
  GUARDED_SCOPE,
  getAccessToken,
  isActive,
  statusOfRoute,
  toClient,
} from '../support/service.ts'

const service = { client_id: 'service', client_secret: `lks_${'s'.repeat(43)}`, scope: [GUARDED_SCOPE] }
const settings = { PLUGINS: GUARDED, OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false, OIDC_KEY_PUBLISH: 3 }

async function startForeignApi(issuer: string): Promise<Requests> {
  const api = fastify()
  await api.register(requireScope, { issuer })
  api.get('/shelf', { config: { scope: GUARDED_SCOPE } }, async () => ({}))
  atEndOfFile(async () => api.close())
  return requestsTo(await api.listen({ host: '127.0.0.1', port: 0 }))
}

interface Key {
  kid: string
  alg: string
}

/** Of the keys for access tokens. */
async function publishedKids(server: Requests): Promise<string[]> {
  const { keys } = (await (await server.get('/jwks')).json()) as { keys: Key[] }
  return keys.filter(({ alg }) => alg === 'ES256').map(({ kid }) => kid)
}

test('K1: keys rotated by command while two processes sign: no token is refused anywhere', async () => {
  const one = await spawnServer(settings, { seed: { clients: [service] } })
  const two = await spawnBeside(one.settings, one.database)
  const api = await startForeignApi(one.url)
  const client = toClient(service)
  const signed = new Set<string>()
  const refusals: unknown[] = []
  let turn = 0

  const load = underLoad(async () => {
    const [here, there] = ++turn % 2 === 0 ? [one, two] : [two, one]
    const published = await Promise.all([publishedKids(one), publishedKids(two)])
    const token = await getAccessToken(here, client)
    const { kid = '' } = decodeProtectedHeader(token)
    signed.add(kid)
    const answers = [
      ...published.map((kids) => kids.includes(kid)),
      await statusOfRoute(here, token),
      await statusOfRoute(there, token),
      await statusOfRoute(api, token),
      await isActive(there, client, token),
    ]
    if (answers.some((answer) => answer !== true && answer !== 200)) refusals.push({ kid, answers })
  }, 2)
  await load.more(10)
  const [first] = signed
  const rotated: string[] = []
  const command = { ...one.settings, LOG_LEVEL: 'warn' }
  for (let count = 0; count < 3; count++) {
    const { status, stdout, stderr } = await runCommand(['key', 'rotate', '--json'], command)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    rotated.push((JSON.parse(stdout) as Key[]).find(({ alg }) => alg === 'ES256')!.kid)
  }
  expect(new Set([first, ...rotated])).toHaveLength(4)
  await expect.poll(() => signed.has(rotated.at(-1)!)).toBe(true)
  await load.more(10)
  await load.stop()
  expect(refusals).toEqual([])
})

test('a key of age is replaced once, however many processes look after it', async () => {
  const database = await createDatabase()
  const one = await startServer({ ...settings, OIDC_KEY_ROTATE: 2 }, { database })
  const others = await Promise.all(
    [1, 2, 3].map(async () => startServer({ ...one.settings, PORT: 0 }, { database })),
  )
  await expect.poll(async () => (await publishedKids(one)).length).toBe(2)
  // Each process looks once a second, and has looked again when the new key signs.
  const { keys } = kernelOf(one.server)
  const [, successor] = keys.keys().filter(({ algorithm }) => algorithm === 'ES256')
  await expect.poll(() => keys.stateOf(successor!)).toBe('current')
  const kids = async (algorithm: string) =>
    database.query('select kid from signing_keys where algorithm = $1', [algorithm])
  expect(await kids('ES256')).toHaveLength(2)
  for (const { server } of others) expect(kernelOf(server).keys.signer('ES256').kid).toBe(successor!.kid)
  expect((await kids('RS256')).length).toBeGreaterThan(1)
})

test('a key leaves when its last token is dead, and signs nothing meanwhile', async () => {
  const server = await startServer({ ...settings, OIDC_TOKEN_EXPIRE: 1, OIDC_IDTOKEN_EXPIRE: 2 })
  const { keys } = kernelOf(server.server)
  const client = await createClient(server, { scope: GUARDED_SCOPE })
  const old = keys.signer('ES256').kid
  const next = await keys.rotate('ES256')
  expect(keys.stateOf(next)).toBe('next')
  const token = await getAccessToken(server, client)
  expect(decodeProtectedHeader(token).kid).toBe(old)
  const lastToken = next.signsFrom + 2_000
  const retiresAt = keys.find(old)!.retiresAt!
  expect(retiresAt).toBeGreaterThanOrEqual(lastToken)
  expect(retiresAt).toBeLessThan(lastToken + 120_000)

  await expect.poll(() => keys.signer('ES256').kid).toBe(next.kid)
  expect(await statusOfRoute(server, await getAccessToken(server, client))).toBe(200)
  expect(await publishedKids(server)).toEqual([old, next.kid])

  // The end of its time comes sooner than the clock has it: the minute for clocks that differ is not waited for.
  await server.database.query('update signing_keys set retires_at = now() where kid = $1', [old])
  await keys.rotate('ES256')
  expect(await publishedKids(server)).not.toContain(old)
  const left = keys.keys().filter(({ algorithm }) => algorithm === 'ES256')
  expect(left.map((key) => keys.stateOf(key))).toEqual(['current', 'next'])
})
