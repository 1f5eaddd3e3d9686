/**
 * docs/ldap.md, as it stands there: its settings and commands with a real directory; and what the account of somebody of it says.
 * @needs latchkey-ldap latchkey-account latchkey-forgot-password
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseConfig } from '../../src/config.ts'
import { type LdapConfig, ldapConfig } from '../../src/settings/ldap.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { authorizationUrl, goThrough, SEED } from '../support/sign-in.ts'
import { ADA, GROUPS, noSlapd, PEOPLE, SERVICE, type Slapd, startSlapd } from '../support/slapd.ts'
import { createUserAgent, findForm, type UserAgent } from '../support/user-agent.ts'
import { type Desk, openPage, type Page, sitDown, substitute } from './page.ts'

const ALONE = { username: 'robert', password: 'a password of ours', roles: ['editor', 'admin'] }

describe.skipIf(noSlapd)('docs/ldap.md', () => {
  let slapd: Slapd
  let server: TestServer
  let desk: Desk
  let page: Page
  let others: LdapConfig[]

  const users = () => server.server.oauth.users
  const settingsIn = (block: string, secret: string): Record<string, string> =>
    parseEnv(substitute(block, secret === '' ? {} : { '/run/secrets/ldap-password': secret })) as Record<
      string,
      string
    >
  const here = (block: string): string => block.replaceAll('dc=example,dc=com', 'dc=example,dc=org')

  async function signedIn(username: string, password: string): Promise<UserAgent> {
    const agent = createUserAgent(server.url)
    const end = await goThrough(agent, await agent.get(authorizationUrl(server)), { username, password })
    expect(end.status).toBe(303)
    return agent
  }

  beforeAll(async () => {
    slapd = await startSlapd()
    page = await openPage('ldap.md')
    const secret = join(await temporaryDirectory(), 'ldap-password')
    await writeFile(secret, `${SERVICE.password}\n`)
    const own = settingsIn(
      substitute(here(page.next('ini')), { 'ldaps://ldap.example.com': slapd.tlsUrl, 'ou=services,': '' }),
      secret,
    )
    // Those of others, as far as they can be read.
    others = ['FreeIPA', 'Active Directory'].map(() =>
      ldapConfig(parseConfig(settingsIn(page.next('ini'), secret), []))!,
    )
    for (const uid of ['bob', 'rob']) await slapd.add({ uid, password: 'of the directory' })
    await slapd.change(async (client) => {
      const group = { objectClass: 'groupOfNames', member: `uid=ada,${PEOPLE}` }
      await client.add(`cn=staff,${GROUPS}`, { ...group, cn: 'staff' })
      await client.add(`cn=operators,${GROUPS}`, { ...group, member: `uid=rob,${PEOPLE}`, cn: 'operators' })
    })
    const seed = { ...SEED, users: [...SEED.users, ALONE] }
    const text = await openPage('ldap.md')
    for (let skipped = 0; skipped < 3; skipped++) text.next('ini')
    text.next('sh')
    text.next('sh')
    const roles = settingsIn(here(text.next('ini')), '')
    const mail = { OIDC_PASSWORD_HASH_MEMORY: 1024 }
    server = await startServer(
      {
        ...own,
        ...roles,
        ...mail,
        LDAP_CA_FILE: slapd.caFile,
        LDAP_TRUST_EMAIL: true,
        LDAP_PASSWORD_URL: 'https://id.example.com/password',
      },
      { seed },
    )
    desk = await sitDown(server.settings)
  })

  test('by its settings and commands the directory is looked at, people are linked, and leave', async () => {
    expect(others.map(({ idAttribute }) => idAttribute)).toEqual(['ipaUniqueID', 'objectGUID'])
    const looked = await desk.sh(page.next('sh'))
    expect(looked.stdout).toMatch(/ok +directory: The directory at 127\.0\.0\.1:\d+ answers/)
    for (const line of [
      'username: ada',
      'name: Ada Lovelace',
      'roles: staff',
      `dn: uid=ada,${PEOPLE}`,
      'They get an account',
    ])
      expect(looked.stdout).toContain(line)
    expect(looked.stdout).not.toContain(SERVICE.password)

    const refused = await desk.sh('npx latchkey ldap test bob')
    expect(refused.stdout).toContain('nobody signs in to it from the directory')
    const { stdout: linked } = await desk.sh(page.next('sh'))
    expect(linked).toContain(`bob signs in as uid=bob,${PEOPLE} from now on.`)
    await signedIn('bob', 'of the directory')
    // By either password: theirs of the directory, and the one that they had here.
    await signedIn('bob', SEED.users[1]!.password)
    await expect(desk.sh('npx latchkey ldap link alice --entry bob')).rejects.toThrow('linked with another')

    page.next('ini')
    await signedIn('ada', ADA.password)
    expect((await users().find('ada'))!.roles).toEqual(['staff'])
    await signedIn('rob', 'of the directory')
    // They were robert; the directory calls them rob, and says of admin alone.
    expect(await users().find('rob')).toMatchObject({ roles: ['editor', 'admin'] })
    await slapd.change(async (client) => client.del(`cn=staff,${GROUPS}`))
    await signedIn('ada', ADA.password)
    expect((await users().find('ada'))!.roles).toEqual([])

    const searched = settingsIn(here(page.next('ini')), '')
    const searching = await sitDown({
      ...server.settings,
      ...searched,
      LDAP_ROLES: `staff=CN=Operators, ${GROUPS}`,
    })
    expect((await searching.sh('npx latchkey ldap test rob')).stdout).toContain('roles: staff')

    await slapd.change(async (client) => {
      await client.del(`uid=bob,${PEOPLE}`)
      await client.del(`uid=rob,${PEOPLE}`)
    })
    const { stdout: synced } = await desk.sh(page.next('sh'))
    expect(synced).toContain('bob is gone from there: disabled.')
    expect(synced).toContain('rob is gone from there, and is the last administrator: not disabled.')
    expect(await users().find('bob')).toMatchObject({ disabled: true })
    expect(await users().find('rob')).toMatchObject({ disabled: false })
    page.end()
  })

  test('their account says what is kept in the directory, and leaves it alone', async () => {
    const agent = await signedIn('ada', ADA.password)
    for (const path of ['/account/security', '/account/password', '/account/email', '/account/profile']) {
      const { body } = await agent.get(`${server.url}${path}`)
      expect(body).toContain('are kept in the directory of your organization')
      expect(body).toContain('href="https://id.example.com/password"')
    }
    expect(findForm(await agent.get(`${server.url}/account/password`), 'change-password')).toBeUndefined()
    expect(findForm(await agent.get(`${server.url}/account/email`), 'change-email')).toBeUndefined()
    const profile = await agent.get(`${server.url}/account/profile`)
    expect(findForm(profile, 'profile')!.fields).not.toHaveProperty('name')
    const typed = { name: 'Somebody Else', given_name: '', nickname: 'Countess' }
    for (const time of ['first', 'second']) {
      const saved = await agent.submit(profile, 'profile', typed)
      expect([time, saved.url]).toEqual([time, `${server.url}/account/profile?saved=yes`])
    }
    const { claims } = (await users().find('ada'))!
    expect(claims).toMatchObject({
      name: 'Ada Lovelace',
      given_name: 'Ada',
      nickname: 'Countess',
      email_verified: true,
    })
    // And does not forget it at the next sign-in, where they show once more who they are.
    const again = await agent.get(authorizationUrl(server, { prompt: 'login' }))
    expect(again.body).toContain('Confirm it is you')
    const wrong = await agent.submit(again, 'login', { username: 'ada', password: 'wrong' })
    expect(wrong.status).toBe(403)
    expect((await goThrough(agent, wrong, { username: 'ada', password: ADA.password })).status).toBe(303)
    expect((await users().find('ada'))!.claims).toMatchObject({ nickname: 'Countess', name: 'Ada Lovelace' })
    expect(await server.server.oauth.users.waysIn((await users().find('ada'))!.id)).toEqual(['ldap'])
  })

  test('who has forgotten their password reads where it is', async () => {
    await signedIn('ada', ADA.password)
    const agent = createUserAgent(server.url)
    await agent.submit(await agent.get(`${server.url}/forgot-password`), 'forgot-password', {
      email: ADA.mail,
    })
    const mail = () => server.server.oauth.mail.kept().find(({ to }) => to.includes(ADA.mail))
    await expect.poll(() => mail()?.text).toContain('https://id.example.com/password')
    expect(mail()!.text).not.toContain('reset-password')
  })
})
