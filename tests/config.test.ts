import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ConfigError, describeSettings, parseConfig, type SettingValues } from '../src/config.ts'
import { connectionOf } from '../src/protocol/connection-url.ts'
import { describeStrays } from '../src/settings/setting-names.ts'
import { fileSetting, settingsOf } from '../src/settings/setting-value.ts'
import { Settings } from '../src/settings/index.ts'
import { temporaryDirectory } from './support/cleanup.ts'

const SECRET = 'correct-horse-battery-staple-0123456789'
const PRODUCTION = {
  NODE_ENV: 'production',
  OIDC_ISSUER: 'https://id.example',
  DATABASE_URL: 'postgresql://db.example/latchkey',
  SECRET_KEY: SECRET,
}

/** The sentence that refuses these settings. */
function refusal(settings: SettingValues): string {
  try {
    parseConfig(settings)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  throw new Error('they were taken')
}

test('nothing set is a development start on loopback, with the defaults of the design', () => {
  expect(parseConfig({})).toMatchObject({
    HOST: '127.0.0.1',
    DATA_DIR: './data',
    PLUGINS: [],
    LOG_LEVEL: 'info',
    OIDC_TOKEN_EXPIRE: 3600,
    OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: true,
    issuer: 'http://localhost:3000',
    basePath: '',
    production: false,
  })
  for (const name of ['PORT', 'DATABASE_URL', 'SECRET_KEY', 'SEED_FILE', 'OIDC_ISSUER'])
    expect(parseConfig({})).not.toHaveProperty(name)
})

test('every setting has an explanation, and its default is taken as a value too', () => {
  for (const { name, default: fallback, description } of describeSettings()) {
    expect([name, description.length > 10]).toEqual([name, true])
    const given = Array.isArray(fallback)
      ? fallback.join(',')
      : fallback === undefined
        ? ''
        : JSON.stringify(fallback).replaceAll('"', '')
    expect(parseConfig({ [name]: given })).toEqual(parseConfig({}))
  }
})

test('an empty setting is unset, and an unknown one is ignored', () => {
  expect(parseConfig({ PORT: '', SECRET_KEY: '', OIDC_ISSUER: '', NOT_OURS: 'x', __proto__: 'x' })).toEqual(
    parseConfig({}),
  )
})

test('strings of the environment and values from code give the same', () => {
  const strings = {
    PORT: '4000',
    OIDC_TOKEN_EXPIRE: '0',
    OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: 'False',
    PLUGINS: ' a, ./b.ts,',
  }
  const values = {
    PORT: 4000,
    OIDC_TOKEN_EXPIRE: 0,
    OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false,
    PLUGINS: ['a', './b.ts'],
  }
  expect(parseConfig(strings)).toEqual(parseConfig(values))
  expect(parseConfig(strings)).toMatchObject({ ...values, issuer: 'http://localhost:4000' })
})

test.each(['true', 'True', 'TRUE', ' true '])('%j is true', (value) => {
  expect(parseConfig({ OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: value })).toMatchObject({
    OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: true,
  })
})

test.each([
  ['PORT', '70000', 'PORT must be a whole number from 0 to 65535; it is "70000".'],
  ['PORT', '-1', 'PORT must be a whole number from 0 to 65535; it is "-1".'],
  ['PORT', '80a', 'PORT must be a whole number from 0 to 65535; it is "80a".'],
  ['PORT', 1.5, 'PORT must be a whole number from 0 to 65535; it is "1.5".'],
  [
    'OIDC_TOKEN_EXPIRE',
    '-1',
    /^OIDC_TOKEN_EXPIRE must be a whole number of seconds from 0 to \d+; it is "-1"\.$/,
  ],
  ['OIDC_TOKEN_EXPIRE', 'abc', /^OIDC_TOKEN_EXPIRE must be .* it is "abc"\.$/],
  ['OIDC_TOKEN_EXPIRE', '1e3', /^OIDC_TOKEN_EXPIRE must be /],
  ['OIDC_TOKEN_EXPIRE', '1.5', /^OIDC_TOKEN_EXPIRE must be /],
  ['OIDC_TOKEN_EXPIRE', '99999999999999999999', /^OIDC_TOKEN_EXPIRE must be /],
  ['OIDC_TOKEN_EXPIRE', Number.NaN, /^OIDC_TOKEN_EXPIRE must be /],
  ['OIDC_KEY_PUBLISH', '2', /^OIDC_KEY_PUBLISH must be a whole number of seconds from 3 /],
  ['OIDC_KEY_ROTATE', 'never', /^OIDC_KEY_ROTATE must be /],
  ['DATABASE_POOL_SIZE', '1', /^DATABASE_POOL_SIZE must be a whole number from 2 /],
  [
    'OIDC_PASSWORD_HASH_MEMORY',
    '1023',
    /^OIDC_PASSWORD_HASH_MEMORY must be a whole number of KiB from 1024 /,
  ],
  ['WORKERS', '0', /^WORKERS must be a whole number from 1 /],
  ['DATABASE_PREPARE', 'yes', 'DATABASE_PREPARE must be true or false; it is "yes".'],
  ['OIDC_SIGN_SYNCHRONOUSLY', '1', /^OIDC_SIGN_SYNCHRONOUSLY must be true or false/],
  [
    'OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE',
    'nein',
    /^OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE must be true or false/,
  ],
  ['LOG_LEVEL', 'loud', /^LOG_LEVEL must be one of trace, debug, .*; it is "loud"\.$/],
  ['PLUGINS', 7, /^PLUGINS must be a comma-separated list/],
  ['SEED_FILE', 7, /^SEED_FILE must be a text/],
])('%s=%s is refused in one sentence that names it', (name, value, sentence) => {
  const message = refusal({ [name]: value })
  expect(message).toMatch(sentence)
  expect(message.match(/\.(?:\s|$)/g)).toHaveLength(1)
})

test('a switch takes true and on, false and off, whichever it is documented with, as text or from code', () => {
  for (const on of ['true', 'on', ' ON ', true])
    expect(
      parseConfig({ OIDC_CIBA: on, SCIM: on, OIDC_SIGN_UP: on, OIDC_BREACHED_PASSWORDS: on }),
    ).toMatchObject({
      OIDC_CIBA: true,
      SCIM: 'on',
      OIDC_SIGN_UP: ['on'],
      OIDC_BREACHED_PASSWORDS: 'on',
    })
  for (const off of ['false', 'off', 'Off', false])
    expect(
      parseConfig({
        DATABASE_PREPARE: off,
        SCIM: off,
        OIDC_REGISTRATION: off,
        OIDC_CLIENT_METADATA_DOCUMENTS: off,
        OIDC_ACCOUNT_DELETION: off,
      }),
    ).toMatchObject({
      DATABASE_PREPARE: false,
      SCIM: 'off',
      OIDC_REGISTRATION: 'off',
      OIDC_CLIENT_METADATA_DOCUMENTS: ['off'],
      OIDC_ACCOUNT_DELETION: 'off',
    })
  // What has no on is not switched on.
  expect(refusal({ OIDC_REGISTRATION: 'true' })).toMatch(/^OIDC_REGISTRATION must be .*; it is "true"\.$/)
  expect(refusal({ OIDC_ACCOUNT_DELETION: 'true' })).toMatch(
    /^OIDC_ACCOUNT_DELETION must be off, or .*; it is "true"\.$/,
  )
  for (const on of ['true', 'on', 'app.example,on'])
    expect(refusal({ OIDC_CLIENT_METADATA_DOCUMENTS: on })).toMatch(
      / must be off, any, or hosts .*; it has "on"\.$/,
    )
  expect(refusal({ OIDC_CIBA: 'constructor' })).toBe('OIDC_CIBA must be true or false; it is "constructor".')
})

test('a refused secret is never shown', () => {
  for (const SECRET_KEY of [
    'too-short-a-secret',
    `${SECRET},too-short-a-secret`,
    ',',
    ['too-short-a-secret'],
  ]) {
    const message = refusal({ SECRET_KEY })
    expect(message).toBe(
      'SECRET_KEY must be a string of 32 characters or more, or several with commas between.',
    )
  }
  for (const DATABASE_URL of ['me:secret@db', 'mysql://me:secret@db/x', 'postgresql://me:secret@db:port/x'])
    expect(refusal({ DATABASE_URL })).toBe('DATABASE_URL must be a URL that begins with postgresql://.')
  expect(refusal({ DATABASE_URL: 7 })).toBe('DATABASE_URL must be a text.')
})

test('DATABASE_URL may name a user and no host, as libpq has it for a socket', () => {
  const known = (DATABASE_URL: string) => parseConfig({ DATABASE_URL }).DATABASE_URL!
  const parsed = (url: string) => connectionOf(known(url))
  expect(known('postgresql://postgres@/x?host=/tmp')).toBe('postgresql://postgres@localhost/x?host=/tmp')
  expect(known('postgres://me:s%40cret@/x?host=/tmp')).toBe('postgres://me:s%40cret@localhost/x?host=/tmp')
  for (const url of ['postgresql:///x?host=/tmp', 'postgresql://db.example/x?application_name=a@/b'])
    expect(known(url)).toBe(url)
  const { DATABASE_REPLICA_URL } = parseConfig({
    DATABASE_URL: 'postgresql:///x',
    DATABASE_REPLICA_URL: 'postgresql://postgres@/x?host=/tmp',
  })
  expect(DATABASE_REPLICA_URL).toBe('postgresql://postgres@localhost/x?host=/tmp')
  expect(parsed('postgresql://postgres@/x?host=/tmp')).toMatchObject({ host: '/tmp', user: 'postgres', database: 'x' })
}) // prettier-ignore

test('SECRET_KEY is a list, the first for what is new', () => {
  expect(parseConfig({ SECRET_KEY: `${SECRET}1, ${SECRET}2,` }).SECRET_KEY).toEqual([
    `${SECRET}1`,
    `${SECRET}2`,
  ])
})

test.each([
  ['id.example', 'absolute URL'],
  ['ftp://id.example', 'an https URL'],
  ['https://id.example/', 'end with a slash'],
  ['https://id.example/a/', 'end with a slash'],
  ['https://id.example?a', 'no query, fragment or user name'],
  ['https://id.example/#', 'no query, fragment or user name'],
  ['https://me:pw@id.example', 'no query, fragment or user name'],
  ['https://ID.example', 'normal form, that is https://id.example'],
  ['https://id.example:443', 'normal form, that is https://id.example'],
  ['https://id.example/a/../b', 'normal form, that is https://id.example/b'],
  ['http://id.example', 'must be https, unless it is this machine'],
  ['http://127.0.0.1.id.example', 'must be https, unless it is this machine'],
])('the issuer %s is refused: %s', (issuer, why) => {
  expect(refusal({ ...PRODUCTION, OIDC_ISSUER: issuer })).toMatch(/^OIDC_ISSUER must /)
  expect(refusal({ ...PRODUCTION, OIDC_ISSUER: issuer })).toContain(why)
})

test("the issuer's path is the base of every endpoint", () => {
  const { issuer, basePath } = parseConfig({ ...PRODUCTION, OIDC_ISSUER: 'https://id.example/tenant/a' })
  expect({ issuer, basePath }).toEqual({ issuer: 'https://id.example/tenant/a', basePath: '/tenant/a' })
})

test.each([
  ['NODE_ENV', { NODE_ENV: 'production' }, 'because NODE_ENV is production'],
  ['HOST', { HOST: '0.0.0.0' }, 'because HOST is 0.0.0.0'],
  ['a name as HOST', { HOST: 'id.example' }, 'because HOST is not this machine'],
  ['OIDC_ISSUER', { OIDC_ISSUER: 'https://id.example' }, 'because OIDC_ISSUER is not this machine'],
])('%s makes a production start, which names all that is missing and why', (_name, settings, why) => {
  const missing = ['OIDC_ISSUER', 'DATABASE_URL', 'SECRET_KEY'].filter((name) => !(name in settings))
  expect(refusal(settings)).toBe(`${missing.join(' and ')} must be set, ${why}: this is a production start.`)
  expect(parseConfig({ ...PRODUCTION, ...settings })).toMatchObject({ production: true })
})

test('a production start needs https, also on loopback', () => {
  expect(refusal({ ...PRODUCTION, OIDC_ISSUER: 'http://localhost:3000' })).toMatch(
    /^OIDC_ISSUER must be an https URL, because NODE_ENV/,
  )
})

test('a production start hashes passwords with no less memory than is advised', () => {
  expect(refusal({ ...PRODUCTION, OIDC_PASSWORD_HASH_MEMORY: 19_455 })).toMatch(
    /^OIDC_PASSWORD_HASH_MEMORY must be 19456 or more, because NODE_ENV is production/,
  )
  expect(parseConfig({ OIDC_PASSWORD_HASH_MEMORY: 1024 })).toMatchObject({ OIDC_PASSWORD_HASH_MEMORY: 1024 })
  expect(parseConfig({ ...PRODUCTION, OIDC_PASSWORD_HASH_MEMORY: 65_536 })).toMatchObject({
    OIDC_PASSWORD_HASH_MEMORY: 65_536,
  })
  expect(parseConfig(PRODUCTION)).toMatchObject({ OIDC_PASSWORD_HASH_MEMORY: 19_456 })
})

test.each([
  [4000, 4000],
  [3000, undefined],
])('METRICS_PORT %s cannot be PORT %s', (METRICS_PORT, PORT) => {
  expect(refusal({ METRICS_PORT, PORT })).toBe('METRICS_PORT must be another port than PORT.')
})

test('loopback in its forms is a development start', () => {
  for (const HOST of ['localhost', '::1', '127.0.0.2'])
    expect(parseConfig({ HOST, OIDC_ISSUER: 'http://[::1]:3000', NODE_ENV: 'test' })).toMatchObject({
      production: false,
    })
})

test('trusted proxies are addresses and networks', () => {
  const given = '127.0.0.1, 10.0.0.0/8,::1, 2001:db8::/32'
  const listed = ['127.0.0.1', '10.0.0.0/8', '::1', '2001:db8::/32']
  expect(parseConfig({ TRUSTED_PROXIES: given }).TRUSTED_PROXIES).toEqual(listed)
  expect(parseConfig({}).TRUSTED_PROXIES).toEqual([])
})

test.each([
  'proxy.example',
  'loopback',
  '10.0.0',
  '10.0.0.0/',
  '10.0.0.0/33',
  '::/129',
  '10.0.0.0/8/8',
  '10.0.0.0/x',
  'fe80::1%eth0',
])('%s is no proxy, and the sentence names it', (proxy) => {
  expect(refusal({ TRUSTED_PROXIES: `127.0.0.1,${proxy}` })).toBe(
    `TRUSTED_PROXIES must list addresses or networks such as 10.0.0.0/8; it has ${JSON.stringify(proxy)}.`,
  )
})

test.each(['0.0.0.0/0', '::/0'])('%s would let everybody name an address, and is refused', (proxy) => {
  expect(refusal({ TRUSTED_PROXIES: proxy })).toContain('TRUSTED_PROXIES')
})

test('origins that may be asked are named as origins', () => {
  const origins = ['http://10.0.0.5:8080', 'https://app.internal', 'http://[::1]:9000']
  expect(parseConfig({ UNSAFE_OUTBOUND_ORIGINS: origins.join(', ') }).UNSAFE_OUTBOUND_ORIGINS).toEqual(
    origins,
  )
  expect(parseConfig({}).UNSAFE_OUTBOUND_ORIGINS).toEqual([])
})

test.each([
  'app.internal',
  'https://app.internal/',
  'https://app.internal/path',
  'https://app.internal:443',
  'HTTPS://app.internal',
  'https://user@app.internal',
  'ftp://app.internal',
  'file:///etc',
  'null',
  '*',
])('%s is no origin, and the sentence names it', (origin) => {
  expect(refusal({ UNSAFE_OUTBOUND_ORIGINS: `https://a.example,${origin}` })).toBe(
    `UNSAFE_OUTBOUND_ORIGINS must list origins such as http://10.0.0.5:8080; it has ${JSON.stringify(origin)}.`,
  )
})

test('SMTP_URL and MAIL_FROM are set both, or none, and what is wrong with them is said without a password', () => {
  const [SMTP_URL, MAIL_FROM] = ['smtps://me:secret@mail.example', 'Example <login@example.com>']
  expect(parseConfig({ SMTP_URL, MAIL_FROM })).toMatchObject({ SMTP_URL, MAIL_FROM })
  expect(refusal({ SMTP_URL })).toBe('MAIL_FROM must be set where SMTP_URL is: set both, or none.')
  expect(refusal({ MAIL_FROM })).toBe('SMTP_URL must be set where MAIL_FROM is: set both, or none.')
  expect(refusal({ SMTP_URL, MAIL_FROM: 'Example' })).toBe(
    'MAIL_FROM must be an address such as Example <login@example.com>; it is "Example".',
  )
  for (const wrong of ['https://me:secret@mail.example', 'me:secret@mail.example', 'smtp://me:secret@mail.example?tls=no'])
    expect(refusal({ SMTP_URL: wrong, MAIL_FROM })).toMatch(/^SMTP_URL must be an address such as (?!.*secret)/)
}) // prettier-ignore

describe('a secret in a file', () => {
  const file = async (text: string): Promise<string> => {
    const path = join(await temporaryDirectory(), 'secret')
    await writeFile(path, text)
    return path
  }

  test('is that of the setting, without the end of its line', async () => {
    const secrets = { SECRET_KEY: `${SECRET},former-${SECRET}`, DATABASE_URL: PRODUCTION.DATABASE_URL }
    for (const end of ['', '\n', '\r\n']) {
      const files = {
        SECRET_KEY_FILE: await file(secrets.SECRET_KEY + end),
        DATABASE_URL_FILE: await file(secrets.DATABASE_URL + end),
      }
      const others = { NODE_ENV: 'production', OIDC_ISSUER: PRODUCTION.OIDC_ISSUER }
      expect(parseConfig({ ...others, ...files })).toEqual(parseConfig({ ...others, ...secrets }))
      expect(parseConfig({ ...others, ...files, SECRET_KEY: '' }).SECRET_KEY).toHaveLength(2)
    }
  })

  test('that is not there, is empty, fits not, or is given twice is refused by its name, and not quoted', async () => {
    expect(refusal({ SECRET_KEY_FILE: '/nowhere/key' })).toBe(
      'SECRET_KEY_FILE names a file that cannot be read (ENOENT): /nowhere/key.',
    )
    const empty = await file('\n')
    expect(refusal({ SMTP_URL_FILE: empty })).toBe(`SMTP_URL_FILE names a file that is empty: ${empty}.`)
    expect(refusal({ SECRET_KEY_FILE: await file('short-secret') })).toMatch(
      /^SECRET_KEY must be (?!.*short-secret)/,
    )
    expect(refusal({ SECRET_KEY: SECRET, SECRET_KEY_FILE: await file(SECRET) })).toBe(
      'SECRET_KEY and SECRET_KEY_FILE are both set: take one of them away.',
    )
  })

  test('is text of a bounded length; a mark of its encoding is no part of it', async () => {
    expect(parseConfig({ SMTP_URL_FILE: await file('\uFEFFsmtp://mail.example\n'), MAIL_FROM: 'a@b.example' })).toMatchObject({ SMTP_URL: 'smtp://mail.example' })
    const directory = await temporaryDirectory()
    const utf16 = join(directory, 'utf16')
    await writeFile(utf16, Buffer.from('\uFEFFsmtp://mail.example\n', 'utf16le'))
    expect(refusal({ SMTP_URL_FILE: utf16 })).toBe(`SMTP_URL_FILE names a file that is no text in UTF-8: ${utf16}.`)
    for (const endless of ['/dev/zero', await file('x'.repeat(131_073))])
      expect(refusal({ SECRET_KEY_FILE: endless })).toBe(`SECRET_KEY_FILE names a file that has more than 131072 bytes: ${endless}.`)
    expect(refusal({ SECRET_KEY_FILE: directory })).toBe(`SECRET_KEY_FILE names a file that cannot be read (EISDIR): ${directory}.`)
  }) // prettier-ignore

  test('is for what is secret alone, and .env.example names all of that', async () => {
    expect(parseConfig({ HOST_FILE: await file('0.0.0.0') }).HOST).toBe('127.0.0.1')
    const example = await readFile(new URL('../.env.example', import.meta.url), 'utf8')
    const secret = settingsOf(Settings).flatMap(([name, schema]) => (schema.secret ? fileSetting(name) : []))
    expect(secret.filter((name) => !example.includes(name))).toEqual([])
    expect(secret.length).toBeGreaterThan(3)
    expect(describeStrays(Object.fromEntries(secret.map((name) => [name, 'x'])))).toEqual([])
    expect(describeStrays({ SECRET_KEY_FIEL: 'x' })).toEqual([
      expect.stringContaining('the nearest is SECRET_KEY_FILE'),
    ])
  })
})
