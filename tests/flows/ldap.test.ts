/** People of a directory sign in on our own page, from there to an app and back; and who must not get in that way. @needs latchkey-ldap */
import { decodeJwt } from 'jose'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { Control } from 'ldapts'
import { createDirectory } from '../../plugins/ldap/directory.ts'
import { parseConfig } from '../../src/config.ts'
import { ldapConfig } from '../../src/settings/ldap.ts'
import { createAuthority } from '../support/certificates.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { startBeside, startServer, type TestServer } from '../support/server.ts'
import {
  ALICE,
  authorize,
  authorizationUrl,
  exchange,
  refresh,
  SEED,
  type Tokens,
} from '../support/sign-in.ts'
import { ADA, CAROL, noSlapd, PEOPLE, SERVICE, type Slapd, startSlapd } from '../support/slapd.ts'
import { createUserAgent, type Page } from '../support/user-agent.ts'

const SCOPES = { scope: 'openid profile email' }
const NO_MATCH = 'That user name and password do not match.'
const NO_ANSWER = /the directory that may know them does not answer/

describe.skipIf(noSlapd)('a directory', () => {
  let slapd: Slapd
  let server: TestServer
  let beside: TestServer

  beforeAll(async () => {
    slapd = await startSlapd()
    server = await startServer({ ...slapd.settings, TRUSTED_PROXIES: '127.0.0.1' }, { seed: SEED })
    beside = await startBeside(server)
  })

  /** Each from a network of its own, so that none waits for what others failed at. */
  let networks = 0
  const agentOf = ({ url }: TestServer) =>
    createUserAgent(url, { 'x-forwarded-for': `198.18.${++networks % 250}.1` })

  async function tokensOf(username: string, password: string, at: TestServer = server): Promise<Tokens> {
    const answer = await authorize(at, SCOPES, agentOf(at), { username, password })
    return (await (await exchange(at, answer.get('code')!)).json()) as Tokens
  }

  const claimsOf = async (username: string, password: string, at: TestServer = server) =>
    decodeJwt((await tokensOf(username, password, at)).id_token)

  /** What the sign-in page says then. */
  async function trying(
    username: string,
    password: string,
    at: TestServer = server,
  ): Promise<Page & { error: string }> {
    const agent = agentOf(at)
    const page = await agent.submit(await agent.get(authorizationUrl(at)), 'login', { username, password })
    const error = /id="login-error"[^>]*>([^<]*)/.exec(page.body)?.[1]?.trim() ?? page.body
    return { ...page, error }
  }

  test('somebody new comes from it to the code of an app, with what it says of them', async () => {
    expect(await claimsOf('ada', ADA.password)).toMatchObject({
      preferred_username: 'ada',
      name: 'Ada Lovelace',
      given_name: 'Ada',
      family_name: 'Lovelace',
      email: 'ada@example.org',
      email_verified: false,
      amr: ['pwd'],
    })
  })

  test('they are the same by every name of theirs, and nobody by a name that the directory alone takes for theirs', async () => {
    const { sub } = await claimsOf('ada', ADA.password)
    for (const name of ['ADA', 'ada@example.org', ' ada '])
      expect((await claimsOf(name, ADA.password)).sub).toBe(sub)
    // To a directory these are ada; whoever guesses would have as many names to guess under.
    for (const name of ['ａｄａ', 'a\u00adda'])
      expect(await trying(name, ADA.password)).toMatchObject({ status: 403, error: NO_MATCH })
  })

  test('what nobody is called finds nobody, whatever it is made of, and a password is never left out', async () => {
    const names = [
      '*',
      'ad*',
      '*)(uid=*',
      'ada)(|(uid=*',
      'ada))(&(uid=ada',
      '\\2a',
      'ada\\',
      'nobody',
      'Ünbekannt😀',
      'a'.repeat(300),
    ]
    for (const name of names)
      expect(await trying(name, ADA.password)).toMatchObject({ status: 403, error: NO_MATCH })
    for (const password of ['', ' ', 'wrong', `${ADA.password} `, 'x'.repeat(1100)])
      expect(await trying('ada', password)).toMatchObject({ status: 403, error: NO_MATCH })
    expect(slapd.log()).not.toMatch(/BIND dn="uid=[^"]*" method=128\n[^\n]*anonymous/)
    expect(server.output()).not.toContain(ADA.password)
    expect(server.output()).not.toContain(SERVICE.password)
  })

  test('a password of ours goes first, and stays good while the directory is away', async () => {
    const local = await claimsOf(ALICE.username, ALICE.password)
    await slapd.stop()
    try {
      expect((await claimsOf(ALICE.username, ALICE.password)).sub).toBe(local.sub)
      // The same for who is known here, for who is known there, and for nobody.
      for (const name of [ALICE.username, 'ada', 'nobody']) {
        const page = await trying(name, 'some password')
        expect(page).toMatchObject({ status: 503, error: expect.stringMatching(NO_ANSWER) })
        expect(page.headers.get('retry-after')).toBe('60')
        expect(page.body).toContain(`value="${name}"`)
        expect(page.body).not.toContain('some password')
      }
    } finally {
      await slapd.start()
    }
    expect((await claimsOf('ada', ADA.password)).preferred_username).toBe('ada')
  })

  test('neither an outage nor a password of the directory gives more guesses at one of ours', async () => {
    await slapd.add({ uid: 'bobby', password: 'the directory’s own' })
    const at = await startServer(
      { ...slapd.settings, LDAP_GUESSES: 30, OIDC_PASSWORD_HASH_MEMORY: 1024 },
      { seed: { ...SEED, users: [...SEED.users, { username: 'bobby', password: 'a password of ours' }] } },
    )
    // What they have shown in the directory forgives no guesses at the account that is called the same.
    const began = performance.now()
    for (let guesses = 0; guesses < 10; guesses++)
      expect((await trying('bobby', 'a guess', at)).status).toBe(403)
    expect((await trying('bobby', 'the directory’s own', at)).error).toContain('already')
    await slapd.stop()
    try {
      let more = 0
      while ((await trying('bobby', 'a guess', at)).status === 503) more++
      // One comes back every ten seconds.
      expect(more).toBeLessThanOrEqual(11 + Math.floor((performance.now() - began) / 10_000))
      expect(more).toBeGreaterThanOrEqual(10)
      expect((await trying('bobby', 'a password of ours', at)).status).toBe(429)
    } finally {
      await slapd.start()
    }
  })

  test('an account of ours with the same name or address is nobody else’s', async () => {
    await slapd.add({ uid: 'bob', password: 'the other bob', mail: 'other@example.org' })
    expect(await trying('bob', 'the other bob')).toMatchObject({
      status: 403,
      error: expect.stringContaining('there is an account here already with your user name or address'),
    })
    // Without the right password nobody hears so.
    expect(await trying('bob', 'wrong')).toMatchObject({ status: 403, error: NO_MATCH })
  })

  test('two processes make one account of one person', async () => {
    await slapd.add({ uid: 'twin', password: 'at the same moment' })
    const typed = { username: 'twin', password: 'at the same moment' }
    const sources = [server, beside].map(({ server: { oauth } }) =>
      oauth.owners('passwordSource').get('ldap')!,
    )
    const answers = await Promise.all(
      [...sources, ...sources].map(async (source) => source.check(typed, { markOf: async () => null })),
    )
    const { sub } = await claimsOf('twin', 'at the same moment')
    for (const answer of answers) expect(answer).toMatchObject({ user: { id: sub, username: 'twin' } })
  })

  test('another name of one entry is another name of one account; another entry of that name is somebody else', async () => {
    const dn = await slapd.add({ uid: 'maiden', password: 'before and after', displayName: 'Eve Maiden' })
    const before = await claimsOf('maiden', 'before and after')
    await slapd.change(async (client) => client.modifyDN(dn, `uid=married,${PEOPLE}`))
    const after = await claimsOf('married', 'before and after')
    expect(after).toMatchObject({ sub: before.sub, preferred_username: 'married' })
    await slapd.add({ uid: 'maiden', password: 'a newcomer' })
    expect((await claimsOf('maiden', 'a newcomer')).sub).not.toBe(before.sub)

    // Gone, and somebody else has the name: the former account is not theirs.
    await slapd.change(async (client) => client.del(`uid=married,${PEOPLE}`))
    await slapd.add({ uid: 'married', password: 'who is this' })
    expect(await trying('married', 'who is this')).toMatchObject({
      error: expect.stringContaining('already'),
    })
  })

  test('who was deleted here comes back as somebody new, and who is disabled here stays out', async () => {
    const { sub } = await claimsOf('carol', CAROL.password)
    const { users } = server.server.oauth
    await users.delete({ id: sub! })
    const again = await claimsOf('carol', CAROL.password)
    expect(again.sub).not.toBe(sub)
    expect(again).not.toHaveProperty('email')
    await users.disable({ id: again.sub! })
    expect(await trying('carol', CAROL.password)).toMatchObject({
      status: 403,
      error: expect.stringContaining('is disabled'),
    })
    expect(await trying('carol', 'wrong')).toMatchObject({ status: 403, error: NO_MATCH })
    await users.enable({ id: again.sub! })
    expect((await claimsOf('carol', CAROL.password)).sub).toBe(again.sub)
  })

  test('several entries of one name are nobody', async () => {
    await slapd.add({ uid: 'pair', rdn: 'pair-1', password: 'one of two' })
    await slapd.add({ uid: 'pair', rdn: 'pair-2', password: 'one of two' })
    await slapd.add({ uid: 'pair', rdn: 'pair-3', password: 'one of two' })
    expect(await trying('pair', 'one of two')).toMatchObject({ status: 403, error: NO_MATCH })
    expect(server.output()).toContain('several entries of the directory have one user name')
  })

  test('an address that is somebody else’s name keeps them from nothing, and gives nothing', async () => {
    await slapd.add({ uid: 'target', password: 'whose name it is', mail: 'target@example.org' })
    for (const uid of ['envious', 'jealous', 'grudging'])
      await slapd.add({ uid, password: 'whose address it is', mail: 'target' })
    expect(await claimsOf('target', 'whose name it is')).toMatchObject({ preferred_username: 'target' })
    expect(await trying('target', 'whose address it is')).toMatchObject({ status: 403, error: NO_MATCH })
    expect(await claimsOf('target@example.org', 'whose name it is')).toMatchObject({
      preferred_username: 'target',
    })
    // Whose address it is cannot be said of two.
    for (const uid of ['first', 'second'])
      await slapd.add({ uid, password: `of the ${uid}`, mail: 'shared@example.org' })
    for (const uid of ['first', 'second'])
      expect(await trying('shared@example.org', `of the ${uid}`)).toMatchObject({ error: NO_MATCH })
  })

  test('who is gone from the directory gets no other token; who is back is let in again', async () => {
    const leaver = { uid: 'leaver', password: 'until friday' }
    const dn = await slapd.add(leaver)
    const tokens = await tokensOf('leaver', leaver.password)
    const { sub } = decodeJwt(tokens.id_token)
    await slapd.change(async (client) => client.del(dn))
    // It has seen them a moment ago; the other one has not.
    const second = (await (await refresh(server, tokens.refresh_token)).json()) as Tokens
    const refused = await refresh(beside, second.refresh_token)
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: 'invalid_grant' }])
    expect(await server.server.oauth.users.get(sub!)).toMatchObject({ disabled: true })
    expect((await refresh(server, second.refresh_token)).status).toBe(400)
    expect(await trying('leaver', leaver.password)).toMatchObject({ status: 403, error: NO_MATCH })

    // Another entry is another person; the same one, put back as from a backup, is the same.
    const { entryUUID } = (await server.server.ldap.links.list(sub!)).map(({ value }) => ({
      entryUUID: value.subject,
    }))[0]!
    await slapd.change(async (client) =>
      client.add(
        dn,
        {
          objectClass: 'inetOrgPerson',
          uid: 'leaver',
          cn: 'leaver',
          sn: 'leaver',
          userPassword: leaver.password,
          entryUUID,
        },
        new Control('1.3.6.1.4.1.4203.666.5.12', { critical: true }),
      ),
    )
    expect((await claimsOf('leaver', leaver.password)).sub).toBe(sub)
    expect(await server.server.oauth.users.get(sub!)).toMatchObject({ disabled: false })
  })

  test('what hangs is asked no more, and keeps no local user waiting', async () => {
    const at = await startServer(slapd.settings, { seed: SEED })
    slapd.freeze(true)
    try {
      const hanging = ['ada', 'nobody', 'carol'].map((name) => trying(name, 'some password', at))
      expect((await claimsOf(ALICE.username, ALICE.password, at)).sub).toBeDefined()
      for (const page of await Promise.all(hanging))
        expect(page).toMatchObject({ status: 503, error: expect.stringMatching(NO_ANSWER) })
      const before = slapd.log()
      expect((await trying('ada', ADA.password, at)).status).toBe(503)
      expect(at.output()).toContain('is not asked again yet')
      expect(slapd.log()).toBe(before)
    } finally {
      slapd.freeze(false)
    }
  })

  test('nothing is said to a server of another authority, nor to one that breaks off', async () => {
    const authenticate = async (more: Record<string, string>) => {
      const config = ldapConfig(parseConfig({ ...slapd.settings, ...more }, []))!
      return createDirectory(config, server.server.log).authenticate('ada', ADA.password)
    }
    const stranger = await createAuthority('somebody else')
    const binds = () => slapd.log().match(/BIND dn=/g)?.length ?? 0
    const before = binds()
    for (const LDAP_URL of [slapd.url, slapd.tlsUrl])
      await expect(authenticate({ LDAP_URL, LDAP_CA_FILE: stranger.files.cert })).rejects.toThrow(
        /certificate|signature/,
      )
    expect(binds()).toBe(before)
    const { port } = await startListener()
    await expect(authenticate({ LDAP_URL: `ldap://127.0.0.1:${port}` })).rejects.toThrow(/closed|reset/i)
    expect(await authenticate({ LDAP_URL: slapd.tlsUrl })).toMatchObject({ username: 'ada' })
    await expect(authenticate({ LDAP_BIND_PASSWORD: 'not that' })).rejects.toThrow('LDAP_BIND_DN')
    await expect(authenticate({ LDAP_BASE_DN: 'ou=nowhere,dc=example,dc=org' })).rejects.toThrow('0x20')
  })

  test('a sync that finds most of them gone disables nobody, until it is told to', async () => {
    const { oauth, ldap } = server.server
    const names = Array.from({ length: 14 }, (_, at) => `never-there-${at}`)
    for (const username of names) {
      const { id } = await oauth.users.create({ username })
      await ldap.links.put(id, id, { directory: 'default', attribute: 'entryUUID', subject: id, dn: '' })
    }
    const stay = await claimsOf('ada', ADA.password)
    const withheld = await ldap.presence.sync()
    expect(withheld).toMatchObject({ gone: [], withheld: expect.arrayContaining(names) })
    expect(await oauth.users.find(names[0]!)).toMatchObject({ disabled: false })
    expect((await ldap.presence.sync({ force: true })).gone).toEqual(expect.arrayContaining(names))
    expect(await oauth.users.find(names[0]!)).toMatchObject({ disabled: true })
    expect(await oauth.users.get(stay.sub!)).toMatchObject({ disabled: false })
  })

  test('a referral is not followed, and what is typed is said to nobody else', async () => {
    const other = await startListener()
    await slapd.change(async (client) =>
      client.add(`cn=elsewhere,${PEOPLE}`, {
        objectClass: ['referral', 'extensibleObject'],
        cn: 'elsewhere',
        uid: 'referred',
        ref: `ldap://127.0.0.1:${other.port}/uid=referred,${PEOPLE}`,
      }),
    )
    expect(await trying('referred', 'a password')).toMatchObject({ status: 403, error: NO_MATCH })
    expect((await claimsOf('ada', ADA.password)).preferred_username).toBe('ada')
    expect(other.connections()).toBe(0)
  })
})

/** Counts who comes, and hears them out no further. */
async function startListener() {
  let count = 0
  const listener = createServer((socket) => {
    count++
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  atEndOfFile(async () => listener.close())
  return { port: (listener.address() as AddressInfo).port, connections: () => count }
}
