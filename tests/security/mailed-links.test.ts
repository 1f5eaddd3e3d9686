/**
 * Every link by which somebody shows that they have read a mail or were handed an address: whatever looks at it spends nothing, and what
 * happens to its user meanwhile ends it, in each process, also for a form that was open before.
 */
import { describe, expect, test, vi } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { spawnBeside } from '../support/beside.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { rowsWith } from '../support/left-out.ts'

const server = await startServer(
  { OIDC_SIGN_UP: 'on' },
  { seed: SEED, extend: ({ oauth }) => void oauth.users.records('way-in', { signsIn: true }) },
)
const beside = await spawnBeside(server.settings, server.database)
const { users, sessions, accountDeletions, passwordLinks, passwordResets, invitations, emailLinks } =
  kernelOf(server.server)
let count = 0

interface Person {
  readonly id: string
  readonly username: string
  readonly email: string
}

interface Kind {
  readonly form: string
  readonly fields: Readonly<Record<string, string>>
  /** The path of a link for the person. */
  make(person: Person): Promise<string>
}

const password = 'a password by the link'
const KINDS: Readonly<Record<string, Kind>> = {
  'for a password, handed over': {
    form: 'set-password',
    fields: { password },
    make: async ({ id }) => (await passwordLinks.make(id)).address,
  },
  ...rowsWith('latchkey-forgot-password', {
    'for a forgotten password': {
      form: 'reset-password',
      fields: { password },
      make: async ({ id, email }: Person) =>
        `${server.url}/reset-password?token=${await passwordResets.make(id, '', email)}`,
    },
  }),
  ...rowsWith('latchkey-invitation', {
    'of an invitation': {
      form: 'accept-invitation',
      fields: { password },
      make: async ({ id }: Person) =>
        `${server.url}/invitation?token=${(await invitations.invite(id))!.token}`,
    },
  }),
  'for a new address': {
    form: 'confirm',
    fields: {},
    make: async ({ id, username }) =>
      `${server.url}/confirm-email?token=${await emailLinks.make(id, `${username}@new.example`)}`,
  },
}

async function somebody(): Promise<Person> {
  const username = `reader-${++count}`
  const email = `${username}@example.com`
  const { id } = await users.create({
    username,
    email,
    email_verified: true,
    password: 'the former password',
  })
  return { id, username, email }
}

/** How many times a link of this kind was used. */
async function countOf({ fields }: Kind, { id }: Person): Promise<number> {
  const type = 'password' in fields ? 'user.password_changed' : 'user.changed'
  return (await server.database.query('select from audit_events where type = $1 and user_id = $2', [type, id])).length
} // prettier-ignore

type End = (person: Person, kind: Kind) => Promise<unknown>
const ENDS: Readonly<Record<string, End>> = {
  'a new password': async ({ username }) => users.setPassword(username, 'a password from elsewhere'),
  'disabling': async ({ username }) => users.disable(username),
  'disabling, for good': async ({ username }) => {
    await users.disable(username)
    await users.enable(username)
  },
  'deletion': async ({ username }) => users.delete(username),
  'another of the same name': async ({ username, email }) => {
    await users.delete(username)
    await users.create({ username, email, email_verified: true })
  },
  'another address': async ({ username }) => users.update(username, { email: `${username}@other.example`, email_verified: true }),
  'an address that is theirs no more': async ({ username, email }) => {
    await users.update(username, { email_verified: false })
    await users.create({ username: `${username}-2`, email, email_verified: true })
  },
  'signing out everywhere': async ({ id }) => sessions.endAll(id),
  'signing out everywhere, by an administrator': async ({ id }) => users.revokeTokens({ id }),
  'a later one of its kind': async (person, { make }) => make(person),
  'another user name': async (person) => users.update(person, { username: `${person.username}-renamed` }, { mayRename: true }),
  'a deletion that is asked for': async ({ id }) => accountDeletions.request(id, 3600),
} // prettier-ignore
/** What does not end them, and why it need not. */
const LASTING: Readonly<Record<string, readonly string[]>> = {
  // An administrator hands it over, whatever the address.
  'for a password, handed over': ['another address', 'an address that is theirs no more', 'signing out everywhere', 'another user name'],
  // Five may be read at the same time; who asks for the deletion may still get in, to keep the account.
  'for a forgotten password': ['signing out everywhere', 'a later one of its kind', 'another user name', 'a deletion that is asked for'],
  'of an invitation': ['signing out everywhere', 'a later one of its kind', 'another user name', 'a deletion that is asked for'],
  // What is confirmed is the new address.
  'for a new address': ['another address', 'an address that is theirs no more', 'another user name'],
} // prettier-ignore

describe.each(Object.entries(KINDS))('a link %s', (name, kind) => {
  const statusAt = async ({ get }: Pick<TestServer, 'get'>, link: string): Promise<number> => {
    const { pathname, search } = new URL(link)
    return (await get(pathname + search)).status
  }

  test('is spent by nothing that only looks, and by its button once', async () => {
    const link = await kind.make(await somebody())
    for (const [method, headers] of [
      ['HEAD', {}],
      ['GET', { 'sec-purpose': 'prefetch' }],
      ['GET', { purpose: 'prefetch', 'x-moz': 'prefetch' }],
      ['GET', { 'user-agent': 'Mozilla/5.0 (compatible; a scanner of mails)', range: 'bytes=0-99' }],
      ['OPTIONS', { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' }],
    ] as const) {
      const looked = await server.request(link, { method, headers })
      expect([method, looked.status < 500, looked.headers.getSetCookie().join()]).toEqual([method, true, expect.not.stringContaining('latchkey-session')])
    }
    const agents = [1, 2, 3].map(() => createUserAgent(server.url))
    const pages = await Promise.all(agents.map(async (agent) => agent.get(link)))
    const all = await Promise.all(agents.map(async (agent, at) => agent.submit(pages[at]!, kind.form, kind.fields)))
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(all.filter(({ status }) => status === 410)).toHaveLength(2)
    expect([await statusAt(server, link), await statusAt(beside, link)]).toEqual([410, 410])
  }) // prettier-ignore

  test('is used once by a form that is sent twice, and either answer says that it is done', async () => {
    const person = await somebody()
    const agent = createUserAgent(server.url)
    const page = await agent.get(await kind.make(person))
    const all = await Promise.all([1, 2, 3].map(async () => agent.clone().submit(page, kind.form, kind.fields)))
    expect(all.map(({ status, url }) => [status, new URL(url).search])).toEqual(all.map(() => [200, '?done=yes']))
    expect(await countOf(kind, person)).toBe(1)
    // Nobody is told that it is done who comes with something else.
    const other = 'password' in kind.fields ? { password: 'another password' } : {}
    expect((await agent.submit(page, kind.form, other)).status).toBe('password' in other ? 410 : 200)
    expect((await createUserAgent(server.url).get(page.url)).status).toBe(410)
  }) // prettier-ignore

  test('leads on whoever sends the form again, as the answer was lost', async () => {
    const person = await somebody()
    const agent = createUserAgent(server.url)
    const page = await agent.get(await kind.make(person))
    const { audit } = kernelOf(server.server)
    const { transaction } = audit
    const spy = vi.spyOn(audit, 'transaction').mockImplementation(async (work) => {
      const done = await transaction(work)
      if ((await countOf(kind, person)) > 0) throw new Error('the connection was lost')
      return done
    })
    expect((await agent.submit(page, kind.form, kind.fields)).status).toBe(500)
    spy.mockRestore()
    const again = await agent.submit(page, kind.form, kind.fields)
    expect([again.status, new URL(again.url).search]).toEqual([200, '?done=yes'])
    expect(await countOf(kind, person)).toBe(1)
  })

  const [lasting, ending] = [true, false].map((lasts) =>
    Object.entries(ENDS).filter(([what]) => LASTING[name]!.includes(what) === lasts),
  ) as [[string, End][], [string, End][]]

  test.each(ending)('ends with %s', async (_what, end) => {
    const person = await somebody()
    const link = await kind.make(person)
    const agent = createUserAgent(server.url)
    const page = await agent.get(link)
    expect(page.status).toBe(200)
    await end(person, kind)
    expect([await statusAt(server, link), await statusAt(beside, link)]).toEqual([410, 410])
    expect((await agent.submit(page, kind.form, kind.fields)).status).toBe(410)
  })

  test.each(lasting)('goes on after %s', async (_what, end) => {
    const person = await somebody()
    const link = await kind.make(person)
    await end(person, kind)
    expect([await statusAt(server, link), await statusAt(beside, link)]).toEqual([200, 200])
  })

  test('of who has no password is not good again once they had one meanwhile', async () => {
    const username = `reader-${++count}`
    const email = `${username}@example.com`
    const { id } = await users.create({ username, email, email_verified: true })
    await server.database.query(
      `insert into user_records (user_id, kind, record_id, value) values ($1, 'way-in', $2, '{}')`,
      [id, username],
    )
    const link = await kind.make({ id, username, email })
    expect([await statusAt(server, link), await statusAt(beside, link)]).toEqual([200, 200])
    await users.setPassword(username, 'a password for a while')
    expect(await statusAt(server, link)).toBe(410)
    await users.removePassword(id)
    expect([await statusAt(server, link), await statusAt(beside, link)]).toEqual([410, 410])
  })
})
