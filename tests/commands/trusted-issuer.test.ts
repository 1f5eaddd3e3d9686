/**
 * Trusted issuers on the command line: every member as it is typed, what a running server makes of it, and when a JWT was last good.
 * @needs latchkey-jwt-bearer
 */
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { commandsHere, runCommandHere } from '../support/command-here.ts'
import { startServer } from '../support/server.ts'
import { APP, bring, createAssertionKey, JAG_SEED, said } from '../support/trusted-issuer.ts'

const ISSUER = 'https://login.example'
const key = await createAssertionKey()
const server = await startServer({}, { seed: JAG_SEED })
const settings = { ...server.settings, LOG_LEVEL: 'error' }
const command = commandsHere(settings, 'trusted-issuer')
const jwks = { keys: [key.jwk] }

test('one is registered, used, shown, changed and deleted', async () => {
  const given = { '--jwks': JSON.stringify(jwks), '--subject': 'email', '--scopes': 'read_books', '--clients': 'app', '--claims': 'repository=org/app', '--max-age': '600' } // prettier-ignore
  const made = await command.runJson('create', ISSUER, ...Object.entries(given).flat())
  const members = { issuer: ISSUER, jwks, subject: 'email', scopes: ['read_books'], clients: ['app'], claims: { repository: 'org/app' }, max_age: 600 } // prettier-ignore
  expect(made).toEqual(members)
  expect(await command.run('list')).toBe(`${ISSUER}  not used yet\n`)

  const { trustedIssuers, trustedIssuerUses } = kernelOf(server.server)
  await expect.poll(async () => (await trustedIssuers.trusted()).length).toBe(1)
  const assertion = await said(key, ISSUER, server.url, { repository: 'org/app' })
  expect(await bring(server, APP, assertion)).toMatchObject({ status: 200 })
  await trustedIssuerUses.flush()
  const { last_used: used, ...shown } = await command.runJson('show', ISSUER)
  expect(shown).toEqual(members)
  expect(Date.parse(String(used))).toBeGreaterThan(0)
  expect(await command.run('list')).toBe(`${ISSUER}  last used ${String(used)}\n`)

  const changed = await command.runJson('update', ISSUER, '--claims', '', '--disabled', 'true')
  const { claims: _claims, ...rest } = members
  expect(changed).toEqual({ ...rest, disabled: true, last_used: used })
  await expect.poll(async () => trustedIssuers.trusted()).toEqual([])
  expect(await command.run('list')).toBe(`${ISSUER}  disabled  last used ${String(used)}\n`)
  expect(await command.runJson('delete', ISSUER, '--yes')).toEqual({ issuer: ISSUER, deleted: true })
  expect(await trustedIssuers.list()).toEqual([])
})

test.each([
  [[server.url], 'issuer is this server itself: name that of somebody else.'],
  [
    [ISSUER, '--claims', 'ref=x ref=x'],
    'claims names ref twice: where one of several is good, write JSON with a list of them.',
  ],
  [
    [ISSUER, '--claims', '{"ref":"x","ref":"y"}'],
    'claims names ref twice: where one of several is good, write JSON with a list of them.',
  ],
  [[`${server.url}/`], 'issuer is this server itself: name that of somebody else.'],
])('%j is refused in one sentence, and registers nothing', async (args, sentence) => {
  const given = ['trusted-issuer', 'create', ...args, '--jwks', JSON.stringify(jwks)]
  const { status, stdout, stderr } = await runCommandHere(given, settings)
  expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: `${sentence}\n` })
  expect(await kernelOf(server.server).trustedIssuers.list()).toEqual([])
})

test.each([
  ['trusted_issuers', { jwks }],
  ['upstreams', { id: 'loop', client_id: 'a' }],
])('no server starts with a SEED_FILE whose %s name it', async (section, members) => {
  const OIDC_ISSUER = 'http://localhost:4000'
  for (const issuer of [OIDC_ISSUER, `${OIDC_ISSUER}/`])
    await expect(
      startServer({ OIDC_ISSUER }, { seed: { [section]: [{ ...members, issuer }] } }),
    ).rejects.toThrow(`: ${section}[0]: issuer is this server itself: name that of somebody else.`)
})
