// Whether the time of a refused sign-in tells a known name from an unknown one: interleaved pairs, and the
// Wilcoxon signed-rank test over their differences. By hand, on a quiet machine: `node bench/sign-in-timing.ts`.

import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildServer } from '../src/server.ts'
import { ALICE, authorizationUrl, SEED } from '../tests/support/sign-in.ts'
import { createUserAgent, findForm } from '../tests/support/user-agent.ts'

const { values } = parseArgs({ options: { pairs: { type: 'string', default: '200' } } })
const pairs = Number(values.pairs)
const WARM_UP = 10
/** As many of each, so that no account has more failures than it may. */
const ACCOUNTS = 10
const knownName = (pair: number): string => `known-${(pair + WARM_UP) % ACCOUNTS}`
const unknownName = (pair: number): string => `knowm-${(pair + WARM_UP) % ACCOUNTS}`

const directory = await mkdtemp(join(tmpdir(), 'latchkey-timing-'))
const SEED_FILE = join(directory, 'seed.json')
await writeFile(SEED_FILE, JSON.stringify(SEED))
const port = 3990
const url = `http://127.0.0.1:${port}`
const server = await buildServer({
  HOST: '127.0.0.1',
  PORT: port,
  OIDC_ISSUER: url,
  DATA_DIR: join(directory, 'data'),
  SECRET_KEY: randomBytes(32).toString('hex'),
  LOG_LEVEL: 'error',
  SEED_FILE,
  // Each try comes from an address of its own, so that none is throttled.
  TRUSTED_PROXIES: '127.0.0.1',
  DATABASE_URL: process.env['DATABASE_URL'],
})

let tries = 0

/** Milliseconds of one refused sign-in. */
async function timeOf(username: string, action: string, fields: Record<string, string>): Promise<number> {
  const address = `10.${tries >> 16}.${(tries >> 8) & 255}.${tries & 255}`
  tries++
  const sent = { ...fields, username, password: 'not the password' }
  const begun = performance.now()
  const { status } = await agent.post(action, sent, { 'x-forwarded-for': address })
  const taken = performance.now() - begun
  if (status !== 403) throw new Error(`not refused: ${status}`)
  return taken
}

const agent = createUserAgent(url)
try {
  await server.listen({ host: '127.0.0.1', port })
  for (let account = 0; account < ACCOUNTS; account++)
    await server.oauth.users.create({ username: `known-${account}`, password: ALICE.password })
  const form = findForm(await agent.get(authorizationUrl({ url } as never)), 'login')!
  const [known, unknown]: [number[], number[]] = [[], []]
  for (let pair = -WARM_UP; pair < pairs; pair++) {
    // Who goes first is drawn, else what the first leaves warm would count for the second.
    const names = [knownName(pair), unknownName(pair)]
    const order = randomBytes(1)[0]! < 128 ? names : names.toReversed()
    for (const username of order) {
      const taken = await timeOf(username, form.action, form.fields)
      if (pair >= 0) (username === unknownName(pair) ? unknown : known).push(taken)
    }
  }
  const { z, p } = signedRank(known.map((one, at) => one - unknown[at]!))
  console.log(`pairs ${pairs}, load ${loadavg()[0]!.toFixed(2)}`)
  console.log(`median, known name   ${median(known).toFixed(2)} ms`)
  console.log(`median, unknown name ${median(unknown).toFixed(2)} ms`)
  console.log(
    `Wilcoxon signed-rank: z = ${z.toFixed(2)}, p = ${p.toFixed(3)} (a difference shows below 0.01)`,
  )
  process.exitCode = p > 0.01 ? 0 : 1
} finally {
  await server.close()
  await rm(directory, { recursive: true, force: true })
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!
}

/** Two-sided, by the normal approximation, which 200 pairs are plenty for; times have no ties to speak of. */
function signedRank(differences: readonly number[]): { z: number; p: number } {
  const n = differences.length
  const ranked = differences.toSorted((a, b) => Math.abs(a) - Math.abs(b))
  const positive = ranked.reduce((sum, one, at) => (one > 0 ? sum + at + 1 : sum), 0)
  const mean = (n * (n + 1)) / 4
  const z = (positive - mean) / Math.sqrt((n * (n + 1) * (2 * n + 1)) / 24)
  return { z, p: 2 * (1 - normal(Math.abs(z))) }
}

/** The normal distribution up to `x` ≥ 0 (Abramowitz and Stegun 26.2.17). */
function normal(x: number): number {
  const t = 1 / (1 + 0.2316419 * x)
  const polynomial =
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
  return 1 - (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * polynomial
}
