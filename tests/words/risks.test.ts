/** What the log of a production start names, beside what it refuses. */
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseConfig, type SettingValues } from '../../src/config.ts'
import { risksOf } from '../../src/words/risks.ts'
import { temporaryDirectory } from '../support/cleanup.ts'

const PRUDENT = {
  NODE_ENV: 'production',
  OIDC_ISSUER: 'https://id.example',
  DATABASE_URL: 'postgresql://db.example/latchkey?sslmode=verify-full',
  SECRET_KEY: 'correct-horse-battery-staple-0123456789',
  TRUSTED_PROXIES: '10.0.0.0/8',
}
/** The user of the tests is what it is. */
const others = async (settings: SettingValues) =>
  (await risksOf(parseConfig(settings))).filter((one) => !one.startsWith('The server runs as root'))

test('a prudent production start is told nothing, and a development start neither', async () => {
  expect(await others(PRUDENT)).toEqual([])
  expect(await risksOf(parseConfig({ OIDC_KEY_ROTATE: 0, LOG_LEVEL: 'silent' }))).toEqual([])
})

test.each<[string, SettingValues]>([
  ['UNSAFE_OUTBOUND_ORIGINS', { UNSAFE_OUTBOUND_ORIGINS: 'http://10.0.0.5:8080,https://app.internal' }],
  ['WITHOUT latchkey-consent', { WITHOUT: 'latchkey-account,latchkey-consent' }],
  ['WITHOUT latchkey-login', { WITHOUT: 'latchkey-login' }],
  ['OIDC_TOKEN_EXPIRE', { OIDC_TOKEN_EXPIRE: 86_401 }],
  ['OIDC_CODE_EXPIRE', { OIDC_CODE_EXPIRE: 601 }],
  ['OIDC_REFRESH_REUSE_INTERVAL', { OIDC_REFRESH_REUSE_INTERVAL: 61 }],
  ['OIDC_KEY_ROTATE', { OIDC_KEY_ROTATE: 0 }],
  ['OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE', { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: 'false' }],
  ['TRUSTED_PROXIES is not set', { TRUSTED_PROXIES: '' }],
  ['TRUSTED_PROXIES holds', { TRUSTED_PROXIES: '10.0.0.1,128.0.0.0/1' }],
  ['TRUSTED_PROXIES holds', { TRUSTED_PROXIES: '2000::/3' }],
  ['METRICS_HOST', { METRICS_PORT: 9464, METRICS_HOST: '0.0.0.0' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgresql://me:canary@db.example/latchkey' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgresql://db.example/latchkey?sslmode=disable' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgresql:///latchkey?host=10.0.0.7' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgresql://db.example/latchkey?sslmode=require&uselibpqcompat=true' }],
  ['SECRET_KEY', { SECRET_KEY: `${PRUDENT.SECRET_KEY},${PRUDENT.SECRET_KEY}-former` }],
  ['LOG_LEVEL', { LOG_LEVEL: 'silent' }],
  ['SECRET_KEY looks', { SECRET_KEY: 'x'.repeat(40) }],
  ['SECRET_KEY looks', { SECRET_KEY: '0123'.repeat(12) }],
  ['SECRET_KEY looks', { SECRET_KEY: `change-me-${PRUDENT.SECRET_KEY}` }],
  ['SECRET_KEY looks', { SECRET_KEY: `${PRUDENT.SECRET_KEY} example` }],
])('%s is named in one sentence: %o', async (name, settings) => {
  const [sentence, ...more] = await others({ ...PRUDENT, ...settings })
  expect(more).toEqual([])
  expect(sentence).toMatch(new RegExp(`^${name}.*\\.$`))
  expect(sentence!.match(/\.(?:\s|$)/g)).toHaveLength(1)
  expect(sentence).not.toContain('canary')
})

test.each([
  'postgresql://localhost/latchkey',
  'postgresql://127.0.0.1:5433/latchkey',
  'postgresql:///latchkey?host=/run/postgresql',
  'postgresql://db.example/latchkey?sslmode=require',
])('%s is no network in the clear', async (DATABASE_URL) => {
  expect(await others({ ...PRUDENT, DATABASE_URL })).toEqual([])
})

test('SEED_FILE is named where it holds secrets and everybody may read it', async () => {
  const SEED_FILE = join(await temporaryDirectory(), 'seed.json')
  const settings = { ...PRUDENT, SEED_FILE }
  await writeFile(SEED_FILE, '{"clients":[{"client_id":"a","client_secret":"canary"}]}')
  await chmod(SEED_FILE, 0o644)
  expect(await others(settings)).toEqual([
    'SEED_FILE holds secrets and may be read by every user of this machine: chmod o-r it.',
  ])
  await chmod(SEED_FILE, 0o640)
  expect(await others(settings)).toEqual([])
  await writeFile(SEED_FILE, '{"scopes":[{"name":"read"}]}')
  await chmod(SEED_FILE, 0o644)
  expect(await others(settings)).toEqual([])
})

test('origins that may be asked whatever is there are named in development too', async () => {
  const named = { UNSAFE_OUTBOUND_ORIGINS: 'http://127.0.0.1:8080,https://app.internal' }
  expect(await risksOf(parseConfig(named))).toEqual([
    expect.stringContaining('http://127.0.0.1:8080 AND https://app.internal'),
  ])
})
