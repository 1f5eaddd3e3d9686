/** Every mail that there is, each sent by what causes it. */
import { kernelOf } from '../../src/http/kernel-of.ts'
import { ask, CALL_CENTRE, CIBA_SEED, CIBA_SETTINGS } from './ciba.ts'
import type { TestServer } from './server.ts'
import { authorizationUrl, SEED } from './sign-in.ts'
import { askForCode, CODE_SUBJECT, MAIL_CODE } from './mail-code.ts'
import { startLyingProvider } from './lying-provider.ts'
import { createUserAgent, type UserAgent } from './user-agent.ts'
import { isThere } from './left-out.ts'

const PASSWORD = 'a password of their own'
const ROOT = { username: 'root', password: PASSWORD, roles: ['admin'] }
const SECRET = 'what the upstream gave us'
const provider = await startLyingProvider('us', SECRET)
const UPSTREAM = {
  id: 'club',
  issuer: provider.issuer,
  client_id: 'us',
  client_secret: SECRET,
  sign_up: true,
}
export const LETTERS_SETTINGS = {
  ...CIBA_SETTINGS,
  ...MAIL_CODE,
  OIDC_SIGN_UP: 'on',
  NOTIFY_NEW_BROWSERS: true,
  UNSAFE_OUTBOUND_ORIGINS: provider.issuer,
  // Nobody asks it.
  LDAP_URL: 'ldaps://127.0.0.1:1',
  LDAP_BASE_DN: 'dc=example,dc=com',
}
export const LETTERS_SEED = { ...CIBA_SEED, users: [...SEED.users, ROOT], upstreams: [UPSTREAM] }

export interface Reader {
  readonly id: string
  readonly username: string
  readonly email: string
}

/** Causes it, by requests with these headers; the mail goes to the address. */
type Cause = (server: TestServer, reader: Reader, headers: Record<string, string>) => Promise<unknown>

interface Known {
  /** Where it is written: its file, and the function that makes it. */
  readonly by: string
  readonly subject: string
  /** Plugins without which there is none. */
  readonly needs: readonly string[]
  readonly cause: Cause
}

let count = 0

async function signedIn(
  { url }: TestServer,
  username: string,
  headers: Record<string, string>,
): Promise<UserAgent> {
  const agent = createUserAgent(url, headers)
  await agent.submit(await agent.get(`${url}/sign-in`), 'login', { username, password: PASSWORD })
  return agent
}

const send = async (
  agent: UserAgent,
  url: string,
  form: string,
  fields: Record<string, string> = {},
): Promise<void> => {
  const page = await agent.get(url)
  const answer = await agent.submit(page, form, fields)
  if (answer.status >= 400) throw new Error(`not sent: ${answer.status} ${answer.body}`)
}

/** Comes by the upstream, which says this address of them. */
async function comeWith(server: TestServer, email: string, headers: Record<string, string>): Promise<void> {
  const agent = createUserAgent(server.url, headers)
  const left = await agent.submit(await agent.get(authorizationUrl(server)), 'upstreams', {
    upstream: UPSTREAM.id,
  })
  const asked = new URL(left.headers.get('location')!).searchParams
  provider.tell(`sub-${++count}`, asked.get('nonce')!, { userinfo: { email } })
  const query = new URLSearchParams({ code: 'c', state: asked.get('state')! })
  const sent = await agent.get(`${server.url}/upstream/${UPSTREAM.id}/callback?${query.toString()}`)
  if (sent.status >= 400) throw new Error(`not sent: ${sent.status} ${sent.body}`)
}

export const ALL_LETTERS: readonly Known[] = [
  {
    by: 'sign-up/letters.ts confirmLetter',
    subject: 'Confirm your email address',
    needs: ['latchkey-sign-up'],
    cause: async ({ url }, { username, email }, headers) =>
      send(createUserAgent(url, headers), `${url}/sign-up`, 'sign-up', {
        // Who chooses their name themselves hides nothing in it.
        username: username.replaceAll(/\p{Cf}/gu, ''),
        email: `up-${email}`,
        password: PASSWORD,
      }),
  },
  {
    by: 'sign-up/letters.ts existingLetter',
    subject: 'You have an account already',
    needs: ['latchkey-sign-up'],
    cause: async ({ url }, { email }, headers) =>
      send(createUserAgent(url, headers), `${url}/sign-up`, 'sign-up', {
        username: `another-${++count}`,
        email,
        password: PASSWORD,
      }),
  },
  {
    by: 'upstreams/letters.ts confirmLetter',
    subject: 'Confirm your email address',
    needs: ['latchkey-upstreams', 'latchkey-mail'],
    cause: async (server, { email }, headers) => comeWith(server, `by-${email}`, headers),
  },
  {
    by: 'upstreams/letters.ts existingLetter',
    subject: 'You have an account already',
    needs: ['latchkey-upstreams', 'latchkey-mail'],
    cause: async (server, { email }, headers) => comeWith(server, email, headers),
  },
  {
    by: 'forgot-password/letter.ts resetLetter',
    subject: 'Set a new password',
    needs: ['latchkey-forgot-password'],
    cause: async ({ url }, { email }, headers) =>
      send(createUserAgent(url, headers), `${url}/forgot-password`, 'forgot-password', { email }),
  },
  {
    by: 'forgot-password/letter.ts keptLetter',
    subject: 'Your password',
    needs: ['latchkey-forgot-password', 'latchkey-ldap'],
    async cause({ url, server: { oauth, ldap } }, { username, email }, headers) {
      const members = { username: `${username}-of-ldap`, email: `of-ldap-${email}`, email_verified: true }
      const { id } = await oauth.users.create(members)
      await ldap.links.put(id, id, { directory: 'default', attribute: 'entryUUID', subject: id, dn: '' })
      await send(createUserAgent(url, headers), `${url}/forgot-password`, 'forgot-password', {
        email: members.email,
      })
    },
  },
  {
    by: 'mail-code/letter.ts codeLetter',
    subject: CODE_SUBJECT,
    needs: ['latchkey-mail-code', 'latchkey-login'],
    async cause({ url }, { email }, headers) {
      const agent = createUserAgent(url, headers)
      await askForCode(agent, await agent.get(`${url}/sign-in`), email)
    },
  },
  {
    by: 'invitation/letter.ts invitationLetter',
    subject: 'Your account at',
    needs: ['latchkey-invitation', 'latchkey-admin', 'latchkey-login'],
    async cause(server, { username, email }, headers) {
      const admin = await signedIn(server, ROOT.username, headers)
      const fields = { username: `${username}-2`, email: `in-${email}`, way: 'invite' }
      await send(admin, `${server.url}/admin/users/new`, 'user', fields)
    },
  },
  {
    by: 'account/email-letters.ts confirmLetter',
    subject: 'Confirm your email address',
    needs: ['latchkey-account', 'latchkey-login'],
    cause: async (server, { username, email }, headers) =>
      send(await signedIn(server, username, headers), `${server.url}/account/email`, 'change-email', {
        email: `other-${email}`,
      }),
  },
  {
    by: 'account/email-letters.ts takenLetter',
    subject: 'Somebody gave your email address as theirs',
    needs: ['latchkey-account', 'latchkey-login'],
    async cause(server, { email }, headers) {
      const { username } = await newReader(server, 'asking')
      const agent = await signedIn(server, username, headers)
      await send(agent, `${server.url}/account/email`, 'change-email', { email })
    },
  },
  {
    by: 'notices/words.ts letterOf',
    subject: 'Your account will be deleted',
    needs: ['latchkey-notices', 'latchkey-own-data', 'latchkey-account', 'latchkey-login'],
    cause: async (server, { username }, headers) =>
      send(await signedIn(server, username, headers), `${server.url}/account/data/delete`, 'delete-account'),
  },
  {
    by: 'notices/words.ts newNameOf',
    subject: 'Your user name was changed',
    needs: ['latchkey-notices', 'latchkey-admin', 'latchkey-login'],
    cause: async (server, { id, username }, headers) =>
      send(await signedIn(server, ROOT.username, headers), `${server.url}/admin/user?id=${id}`, 'user', {
        username: `${username} by another name`,
      }),
  },
  {
    by: 'notices/words.ts farewellOf',
    subject: 'Your account is deleted',
    needs: ['latchkey-notices'],
    // Nobody asks for it: it is due.
    async cause({ database, server }, { id }) {
      const { accountDeletions } = kernelOf(server)
      await accountDeletions.request(id, 1)
      await database.query(`update users set deletion_due_at = now() - interval '1 hour' where id = '${id}'`)
      await accountDeletions.deleteDue()
    },
  },
  {
    by: 'mail/test-letter.ts testLetter',
    subject: 'A test of the mail of this server',
    needs: ['latchkey-admin', 'latchkey-login'],
    cause: async (server, { email }, headers) =>
      send(await signedIn(server, ROOT.username, headers), `${server.url}/admin/mail`, 'mail-test', {
        address: email,
      }),
  },
  {
    by: 'token/grants/ciba/letter.ts letterOf',
    subject: 'asks for your approval',
    needs: ['latchkey-ciba', 'latchkey-interaction', 'latchkey-consent'],
    cause: async ({ post, get, request }, { username }, headers) =>
      ask(
        { get, request, post: async (path, form, own) => post(path, form, { ...own, ...headers }) },
        { login_hint: username },
        CALL_CENTRE,
      ),
  },
]

/** Those of plugins that the servers of this run have. */
export const LETTERS = ALL_LETTERS.filter(({ needs }) => isThere(...needs))

/** Somebody who can be told, called so and with a number. */
export async function newReader({ server }: TestServer, name = 'reader'): Promise<Reader> {
  const username = `${name}-${++count}`
  const email = `reader-${count}@example.com`
  const { id } = await server.oauth.users.create({
    username,
    email,
    email_verified: true,
    password: PASSWORD,
  })
  return { id, username, email }
}
