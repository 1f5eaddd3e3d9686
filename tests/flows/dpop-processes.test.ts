/** DPoP proofs where there are several processes, one dies, and the database does not answer: each is good once, over all of them. */
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { createDpopKey, prove } from '../support/dpop.ts'
import { janitorOf, openAs } from '../support/expired-rows.ts'
import { spawnServer } from '../support/process.ts'
import type { Requests } from '../support/requests.ts'
import { GUARDED, SIGNED, toClient } from '../support/service.ts'

const settings = { PLUGINS: GUARDED, OIDC_JANITOR_INTERVAL: 0 }
const one = await spawnServer(settings, { seed: { clients: [SIGNED] } })
const two = await spawnBeside(one.settings, one.database)
const client = toClient(SIGNED)
const key = await createDpopKey()

interface Answer {
  readonly status: number
  readonly error?: string
  readonly access_token?: string
}

async function answered(responding: Promise<Response>): Promise<Answer> {
  const response = await responding
  return { ...((await response.json()) as object), status: response.status }
}

const proofForToken = async (): Promise<string> => prove(key, { method: 'POST', url: `${one.url}/token` })
const ask = async (dpop: string, server: Requests): Promise<Answer> =>
  answered(server.post('/token', { grant_type: 'client_credentials' }, { ...client.basic, dpop }))
const token = (await ask(await proofForToken(), one)).access_token!
const proofForShelf = async (): Promise<string> =>
  prove(key, { method: 'GET', url: `${one.url}/shelf`, token })
const present = async (dpop: string, server: Requests): Promise<Answer> =>
  answered(server.get('/shelf', { authorization: `DPoP ${token}`, dpop }))

const both = (at: number): Requests => (at % 2 === 0 ? one : two)

test.each([
  ['at the token endpoint', proofForToken, ask, 400],
  ['with a token', proofForShelf, present, 401],
] as const)(
  'of 50 uses of one proof at two processes, one succeeds (%s)',
  async (_where, make, use, refusal) => {
    const proof = await make()
    const answers = await Promise.all(Array.from({ length: 50 }, async (_, at) => use(proof, both(at))))
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused).toHaveLength(49)
    expect(new Set(refused.map(({ status, error }) => `${status} ${error}`))).toEqual(
      new Set([`${refusal} invalid_dpop_proof`]),
    )
  },
)

// First, since it counts rows: the tests below kill a process and stall the database, and what they use is stored later than it is answered.
test('what is used is a row of a hash, for some minutes: then the janitor takes it, and memory does not grow', async () => {
  const { query } = one.database
  await query('delete from spent_handles')
  const proofs = await Promise.all(Array.from({ length: 100 }, proofForToken))
  await Promise.all(proofs.map(async (proof, at) => ask(proof, both(at))))
  const rows = await query<{ hash: string; left: number }>(
    'select hash, extract(epoch from expires_at - now())::int as left from spent_handles',
  )
  expect(rows).toHaveLength(100)
  for (const { hash, left } of rows) {
    expect(hash).toMatch(/^[\w-]{43}$/)
    expect(left).toBeGreaterThan(30)
    expect(left).toBeLessThan(100)
  }
  const janitor = janitorOf(await openAs(one.database))
  expect((await janitor.round())['spentHandles'] ?? 0).toBe(0)
  await query(`update spent_handles set expires_at = expires_at - interval '15 minutes'`)
  expect(await janitor.round()).toMatchObject({ spentHandles: 100 })
  expect(await query('select 1 from spent_handles')).toHaveLength(0)
})

test('T8: what one process took, another refuses after SIGKILL, and so does its successor', async () => {
  const dying = await spawnBeside(one.settings, one.database)
  const proofs = await Promise.all(Array.from({ length: 20 }, proofForToken))
  const taken: string[] = []
  const asking = proofs.map(async (proof) => {
    const { status } = await ask(proof, dying).catch(() => ({ status: 0 }))
    if (status === 200) taken.push(proof)
    // As soon as one was answered, in the middle of the others.
    if (taken.length === 1) await dying.stop('SIGKILL')
  })
  await Promise.all(asking)
  expect(taken.length).toBeGreaterThan(0)
  const successor = await spawnBeside(one.settings, one.database)
  for (const proof of taken)
    for (const server of [one, successor])
      expect(await ask(proof, server)).toMatchObject({ status: 400, error: 'invalid_dpop_proof' })
  // Each of the others is good once, or was used by what died.
  for (const proof of proofs.filter((proof) => !taken.includes(proof))) {
    const answers = await Promise.all([ask(proof, one), ask(proof, two), ask(proof, successor)])
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
  }
})

test('while the database does not answer, a proof is neither taken nor refused, and then good once at most', async () => {
  const proxy = await startDatabaseProxy(one.database.url)
  const behind = await spawnBeside({ ...one.settings, DATABASE_URL: proxy.url }, one.database)
  expect((await present(await proofForShelf(), behind)).status).toBe(200)
  expect((await ask(await proofForToken(), behind)).status).toBe(200)
  const [first, second] = [await proofForShelf(), await proofForToken()]
  proxy.stall()
  const waiting = Promise.all([present(first, behind), ask(second, behind)])
  expect(await waiting).toMatchObject([
    { status: 503, error: 'temporarily_unavailable' },
    { status: 503, error: 'temporarily_unavailable' },
  ])
  // Without a proof, a token comes from memory.
  const form = { grant_type: 'client_credentials' }
  expect((await answered(behind.post('/token', form, client.basic))).status).toBe(200)
  await proxy.restore()
  await expect.poll(async () => (await ask(await proofForToken(), behind)).status).toBe(200)
  const answers = await Promise.all([ask(second, behind), ask(second, one), ask(second, two)])
  expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
})
