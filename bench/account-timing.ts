// Whether the time of an answer tells a known account from an unknown one, where somebody signs in, forgot their password, signs up, or asks
// for a link to an address at their account: interleaved pairs, and the Wilcoxon signed-rank test over their differences. By hand, on a quiet machine: `node bench/account-timing.ts`.

import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { kernelOf } from '../src/http/kernel-of.ts'
import { statements } from '../src/store/outbox.ts'
import { buildServer } from '../src/server.ts'
import { ALICE, authorizationUrl, SEED } from '../tests/support/sign-in.ts'
import { createUserAgent, findForm, type UserAgent } from '../tests/support/user-agent.ts'

const { values } = parseArgs({ options: { pairs: { type: 'string', default: '200' } } })
const pairs = Number(values.pairs)
const WARM_UP = 10
/** As many of each, so that none has more tries than it may. */
const ACCOUNTS = 60

const directory = await mkdtemp(join(tmpdir(), 'latchkey-timing-'))
const SEED_FILE = join(directory, 'seed.json')
await writeFile(SEED_FILE, JSON.stringify(SEED))
const port = 3990
const url = `http://127.0.0.1:${port}`
const server = await buildServer({
  HOST: '127.0.0.1',
  PORT: port,
  OIDC_ISSUER: url,
  OIDC_SIGN_UP: 'on',
  DATA_DIR: join(directory, 'data'),
  SECRET_KEY: randomBytes(32).toString('hex'),
  LOG_LEVEL: 'error',
  SEED_FILE,
  // Each try comes from an address of its own, so that none is throttled.
  TRUSTED_PROXIES: '127.0.0.1',
  DATABASE_URL: process.env['DATABASE_URL'],
})

interface Asked {
  readonly page: string
  readonly form: string
  /** Whether it is a page of somebody's account; of a stranger's browser otherwise. */
  readonly ofAccount?: boolean
  /** What is sent for an account of this name. */
  fields(name: string): Record<string, string>
  /** Of the answer, whoever it was. */
  readonly status: number
}

const PASSWORD = 'not the password'
const emailOf = (name: string): string => `${name}@example.com`
const ASKED: Readonly<Record<string, Asked>> = {
  'sign-in': {
    page: authorizationUrl({ url } as never),
    form: 'login',
    fields: (username) => ({ username, password: PASSWORD }),
    status: 403,
  },
  'forgotten password': {
    page: `${url}/forgot-password`,
    form: 'forgot-password',
    fields: (name) => ({ email: emailOf(name) }),
    status: 200,
  },
  'sign-up': {
    page: `${url}/sign-up`,
    form: 'sign-up',
    fields: (name) => ({ username: name, email: emailOf(name), password: PASSWORD }),
    status: 200,
  },
  'another address': {
    page: `${url}/account/email`,
    form: 'change-email',
    ofAccount: true,
    fields: (name) => ({ email: emailOf(name) }),
    status: 200,
  },
}

let tries = 0

/** Milliseconds of one answer. What goes on behind it is waited for, so that it counts for nobody else. */
async function timeOf({ fields, status }: Asked, { agent, form }: Opened, name: string): Promise<number> {
  const address = `10.${tries >> 16}.${(tries >> 8) & 255}.${tries & 255}`
  tries++
  const sent = { ...form.fields, ...fields(name) }
  const begun = performance.now()
  const answer = await agent.post(form.action, sent, { 'x-forwarded-for': address })
  const taken = performance.now() - begun
  if (answer.status !== status) throw new Error(`not answered as ever: ${answer.status}`)
  await settled()
  return taken
}
interface Opened {
  readonly agent: UserAgent
  readonly form: NonNullable<ReturnType<typeof findForm>>
}

/** The page, in as many browsers as nobody minds the tries of. */
async function open({ page, form, ofAccount = false }: Asked): Promise<Opened[]> {
  const opened = []
  for (let at = 0; at < (ofAccount ? ACCOUNTS : 1); at++) {
    const agent = createUserAgent(url)
    const shown = await agent.get(page)
    const there = ofAccount
      ? await agent.submit(shown, 'login', { username: `asking-${at}`, password: ALICE.password })
      : shown
    opened.push({ agent, form: findForm(there, form)! })
  }
  return opened
}

async function settled(): Promise<void> {
  const { database } = kernelOf(server)
  const waits = async () => (await database.query(statements.waiting, [1]))[0]!.count > 0
  while (await waits()) await sleep(5)
}

async function compare(what: string, asked: Asked): Promise<boolean> {
  const opened = await open(asked)
  const [known, unknown]: [number[], number[]] = [[], []]
  for (let pair = -WARM_UP; pair < pairs; pair++) {
    const at = (pair + WARM_UP) % ACCOUNTS
    // Who goes first is drawn, else what the first leaves warm would count for the second.
    const both = [`known-${at}`, `knowm-${at}`]
    for (const name of randomBytes(1)[0]! < 128 ? both : both.toReversed()) {
      const taken = await timeOf(asked, opened[tries % opened.length]!, name)
      if (pair >= 0) (name.startsWith('known') ? known : unknown).push(taken)
    }
  }
  const { z, p } = signedRank(known.map((one, at) => one - unknown[at]!))
  console.log(
    `${what}: ${pairs} pairs, load ${loadavg()[0]!.toFixed(2)}; median known ${median(known).toFixed(2)} ms, unknown ${median(unknown).toFixed(2)} ms; ` +
      `Wilcoxon signed-rank z = ${z.toFixed(2)}, p = ${p.toFixed(3)} (a difference shows below 0.01)`,
  )
  return p > 0.01
}

try {
  await server.listen({ host: '127.0.0.1', port })
  for (let at = 0; at < ACCOUNTS; at++)
    for (const username of [`known-${at}`, `asking-${at}`])
      await server.oauth.users.create({
        username,
        password: ALICE.password,
        email: emailOf(username),
        email_verified: true,
      })
  const alike = []
  for (const [what, asked] of Object.entries(ASKED)) alike.push(await compare(what, asked))
  process.exitCode = alike.every(Boolean) ? 0 : 1
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
