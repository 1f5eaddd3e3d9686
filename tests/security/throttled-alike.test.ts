/**
 * Whether an account exists is not to be learned by being throttled: at sign-in, where a password was forgotten, and at sign-up, it begins after as
 * many tries, with one status, text and `Retry-After`, whoever is tried. Nor do tries by one name tell what other name the account has.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { MAIL_CODE } from '../support/mail-code.ts'
import { startServer } from '../support/server.ts'
import { SEED } from '../support/sign-in.ts'
import { createUserAgent, type Page, type UserAgent } from '../support/user-agent.ts'
import { rowsWith } from '../support/left-out.ts'

const server = await startServer(
  { ...MAIL_CODE, OIDC_SIGN_UP: 'on', TRUSTED_PROXIES: '127.0.0.1' },
  { seed: SEED },
)
const { users, courier } = kernelOf(server.server)
const PASSWORD = 'a password of their own'
const WRONG = 'not their password'

interface Person {
  username: string
  email: string
}

interface Form {
  readonly path: string
  readonly id: string
  /** What is typed about somebody. */
  fields(person: Person): Record<string, string>
  /** Of a try that is looked at. */
  readonly status: number
  /** How many are, and the seconds after which one more is: from one network, and from everywhere. */
  readonly here: readonly [tries: number, recovery: number]
  readonly everywhere: readonly [tries: number, recovery: number]
}

const SIGN_IN = { path: '/sign-in', id: 'login', status: 403, here: [20, 10], everywhere: [30, 180] } as const
const MAILED = { status: 200, here: [10, 3600], everywhere: [20, 600] } as const
const SIGN_UP = { path: '/sign-up', id: 'sign-up', ...MAILED }
const RESET = { path: '/forgot-password', id: 'forgot-password', ...MAILED }
const byName: Form = { ...SIGN_IN, fields: ({ username }) => ({ username, password: WRONG }) }
const byAddress: Form = { ...SIGN_IN, fields: ({ email }) => ({ username: email, password: WRONG }) }
const FORMS: Readonly<Record<string, Form>> = {
  'sign-in by name': byName,
  'sign-in by address': byAddress,
  ...rowsWith('latchkey-forgot-password', {
    'a forgotten password': { ...RESET, fields: ({ email }: Person) => ({ email }) },
  }),
  ...rowsWith('latchkey-mail-code', {
    'a code by mail': { path: '/sign-in', id: 'mail-code-form', ...MAILED, fields: ({ email }: Person) => ({ username: email }) },
  }),
  ...rowsWith('latchkey-sign-up', {
    'sign-up by address': { ...SIGN_UP, fields: ({ email }: Person) => ({ email, username: 'wanted', password: PASSWORD }) },
    'sign-up by both': { ...SIGN_UP, fields: (person: Person) => ({ ...person, password: PASSWORD }) },
  }),
} // prettier-ignore

let addresses = 0
const elsewhere = (): UserAgent =>
  createUserAgent(server.url, { 'x-forwarded-for': `203.0.${++addresses >> 8}.${addresses & 255}` })

let groups = 0
/** Names of one length: of somebody, of nobody, of one who is disabled, and of one without a password, whose address is not verified. */
async function somePeople(): Promise<[known: Person, nobody: Person, ...others: Person[]]> {
  const group = ++groups
  const [known, nobody, disabled, unverified] = ['k', 'n', 'd', 'u'].map((one) => ({
    username: `${one}${group}`,
    email: `${one}${group}@example.com`,
  })) as [Person, Person, Person, Person]
  for (const one of [known, disabled])
    await users.create({ ...one, password: PASSWORD, email_verified: true })
  await users.disable(disabled.username)
  await users.create(unverified)
  return [known, nobody, disabled, unverified]
}

beforeAll(async () => {
  // Mails would be made meanwhile, which is not looked at here.
  await courier.stop()
})

/** What is the same for everybody: without tokens, addresses of interactions, instants and the names that were typed. */
function neutral({ body }: Page): string {
  return body
    .replaceAll(/(?:value|action|href)="[^"]*"/g, '')
    .replaceAll(/<time[^>]*>[^<]*<\/time>|<code>[^<]*<\/code>|\d+/g, '')
}

const attempt = async ({ path, id, fields }: Form, person: Person, agent: UserAgent): Promise<Page> =>
  agent.submit(await agent.get(server.url + path), id, fields(person))

interface Refused {
  tries: number
  /** Seconds. */
  took: number
  page: Page
}

/** Until one is refused as one too many. */
async function exhaust(form: Form, person: Person, agentOf: () => UserAgent): Promise<Refused> {
  const began = performance.now()
  for (let tries = 0; tries < 100; tries++) {
    const page = await attempt(form, person, agentOf())
    if (page.status === 429) return { tries, took: (performance.now() - began) / 1000, page }
    expect(page.status).toBe(form.status)
  }
  throw new Error('a hundred tries were looked at')
}

function expectAlike(refused: readonly Refused[], [limit, recovery]: readonly [number, number]): void {
  for (const { tries, took, page } of refused) {
    expect(tries).toBeGreaterThanOrEqual(limit)
    // Some may have come back meanwhile.
    expect(tries - limit).toBeLessThanOrEqual(1 + Math.floor(took / recovery))
    expect(neutral(page)).toBe(neutral(refused[0]!.page))
    const wait = Number(page.headers.get('retry-after'))
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(recovery)
  }
}

describe.each(Object.entries(FORMS))('%s', (_name, form) => {
  test('is refused alike from one network, after as many tries', async () => {
    const refused = []
    for (const person of await somePeople()) {
      const agent = elsewhere()
      refused.push(await exhaust(form, person, () => agent))
    }
    expectAlike(refused, form.here)
  })

  test('is refused alike from everywhere, after as many tries', async () => {
    const refused = []
    for (const person of (await somePeople()).slice(0, 2))
      refused.push(await exhaust(form, person, elsewhere))
    expectAlike(refused, form.everywhere)
  })
})

test.each([
  ['name', 'address', byName, byAddress],
  ['address', 'name', byAddress, byName],
])('tries by the %s tell nothing of the %s that an account has', async (_by, _of, form, other) => {
  const [known, nobody] = await somePeople()
  const agent = elsewhere()
  await exhaust(form, known, () => agent)
  await exhaust(form, known, elsewhere)
  for (const from of [agent, elsewhere()]) {
    const answers = []
    for (const person of [known, nobody]) {
      const page = await attempt(other, person, from)
      answers.push([page.status, page.headers.get('retry-after'), neutral(page)])
    }
    expect(answers[0]).toEqual(answers[1])
    expect(answers[0]![0]).toBe(403)
  }
})
