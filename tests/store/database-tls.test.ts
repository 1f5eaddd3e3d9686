/** A PostgreSQL that wants TLS and a password: whom we take for it, what becomes of requests when it lets us in no more, and how operators hear why. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { cancel } from '../../src/store/backend.ts'
import { connectionOf } from '../../src/protocol/connection-url.ts'
import { withClient } from '../../src/store/connections.ts'
import { isUnavailable } from '../../src/store/failures.ts'
import { remedyOf } from '../../src/words/database-refusal.ts'
import { certify, createAuthority, type TestCertificate } from '../support/certificates.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { requestToken } from '../support/clients.ts'
import { execute } from '../support/connection.ts'
import { createOwnPostgres, type OwnPostgres } from '../support/own-postgres.ts'
import { runCommand } from '../support/process.ts'
import { startServer } from '../support/server.ts'
import { OPAQUE, statusOf, toClient } from '../support/service.ts'
import { freePort } from '../support/settings.ts'

let authority: TestCertificate
let postgres: OwnPostgres
let port: number
/** On a socket, where it asks for nothing. */
let inside: string

const named = (...names: string[]): readonly string[] => [
  'basicConstraints = critical, CA:FALSE',
  `subjectAltName = ${names.join(', ')}`,
]
const namesOf = async (...names: string[]): Promise<TestCertificate> =>
  certify('/CN=database', { issuer: authority, extensions: named(...names) })

/** To connections that come after a while. */
async function show({ cert, key }: TestCertificate): Promise<void> {
  for (const [name, text] of Object.entries({ cert, key }))
    await postgres.sh('umask 077; printf %s "$1" > "$2"', text, join(postgres.cluster, `tls.${name}`))
  if (postgres.isRunning()) await execute(inside, 'select pg_reload_conf()')
}

function urlOf(host: string, parameters: Readonly<Record<string, string>>, password = 'secret'): string {
  const url = new URL(`postgresql://app:${password}@${host}:${port}/postgres`)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}
const verified = () => ({ sslmode: 'verify-full', sslrootcert: authority.files.cert })

/** Whether it is a connection by TLS; or why there is none. */
const reach = async (url: string): Promise<boolean | Error> =>
  withClient({ url }, async (client) => {
    const { rows } = await client.query<{ ssl: boolean }>(
      'select ssl from pg_stat_ssl where pid = pg_backend_pid()',
    )
    return rows[0]!.ssl
  }).catch((error: Error) => error)
const codeOf = async (url: string): Promise<unknown> => ((await reach(url)) as NodeJS.ErrnoException).code

beforeAll(async () => {
  authority = await createAuthority('Test')
  postgres = await createOwnPostgres(await temporaryDirectory(), { begins: 'migrated' })
  port = await freePort()
  inside = `${postgres.url}&port=${port}`
  await show(await namesOf('IP:127.0.0.1', 'DNS:database.example'))
  const rules = join(postgres.cluster, 'tls.hba')
  await postgres.sh(
    'printf %s "$1" > "$2"',
    'local all all trust\nhostssl all all all scram-sha-256\n',
    rules,
  )
  await postgres.start({
    port: String(port),
    listen_addresses: '127.0.0.1',
    hba_file: rules,
    ssl: 'on',
    ssl_cert_file: 'tls.cert',
    ssl_key_file: 'tls.key',
    fsync: 'off',
  })
  await execute(inside, `create role app login superuser password 'secret'`)
})

test('the certificate is that of the name, or of the address, that DATABASE_URL has', async () => {
  expect(await reach(urlOf('127.0.0.1', verified()))).toBe(true)
  expect(await codeOf(urlOf('localhost', verified()))).toBe('ERR_TLS_CERT_ALTNAME_INVALID')

  await show(await namesOf('DNS:localhost'))
  await expect.poll(() => reach(urlOf('localhost', verified()))).toBe(true)
  expect(await codeOf(urlOf('127.0.0.1', verified()))).toBe('ERR_TLS_CERT_ALTNAME_INVALID')
  expect(await codeOf(urlOf('127.0.0.1', { ...verified(), sslnegotiation: 'direct' }))).toBe(
    'ERR_TLS_CERT_ALTNAME_INVALID',
  )

  await show(await namesOf('IP:127.0.0.1'))
  await expect.poll(() => reach(urlOf('127.0.0.1', verified()))).toBe(true)
})

test.each(['prefer', 'require', 'verify-ca'])(
  'sslmode=%s is sure of the server, without a warning',
  async (sslmode) => {
    const warned: Error[] = []
    const listen = (warning: Error): number => warned.push(warning)
    process.on('warning', listen)
    try {
      expect(await reach(urlOf('127.0.0.1', { ...verified(), sslmode }))).toBe(true)
      expect(await codeOf(urlOf('127.0.0.1', { sslmode }))).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE')
      expect(await codeOf(urlOf('localhost', { ...verified(), sslmode }))).toBe(
        'ERR_TLS_CERT_ALTNAME_INVALID',
      )
    } finally {
      process.off('warning', listen)
    }
    expect(warned).toEqual([])
  },
)

test('who says that the certificate does not matter has a connection', async () => {
  expect(await reach(urlOf('127.0.0.1', { sslmode: 'no-verify' }))).toBe(true)
  expect(await reach(urlOf('127.0.0.1', { uselibpqcompat: 'true', sslmode: 'require' }))).toBe(true)
})

test.each<[string, () => string, RegExp]>([
  ['no TLS', () => urlOf('127.0.0.1', {}), /add sslmode=verify-full/],
  ['another name', () => urlOf('localhost', verified()), /name the server as its certificate does/],
  [
    'an authority that nobody knows',
    () => urlOf('127.0.0.1', { sslmode: 'verify-full' }),
    /add sslrootcert=FILE/,
  ],
  ['a wrong password', () => urlOf('127.0.0.1', verified(), 'wrong'), /mend the user or the password/],
  ['no password', () => urlOf('127.0.0.1', verified(), ''), /put the password into DATABASE_URL/],
  [
    'another database',
    () => urlOf('127.0.0.1', verified()).replace('/postgres?', '/nowhere?'),
    /create the database/,
  ],
])('%s: requests get 503, and operators hear what to do', async (_what, url, remedy) => {
  const error = await reach(url())
  expect(error).toBeInstanceOf(Error)
  expect(isUnavailable(error)).toBe(true)
  expect(remedyOf(error as Error)).toMatch(remedy)
})

test('a command says in a sentence why it cannot start', async () => {
  const { status, stderr } = await runCommand(['user', 'list'], {
    DATABASE_URL: urlOf('localhost', verified()),
  })
  expect(status).toBe(1)
  expect(stderr).toMatch(
    /^This cannot start: the database cannot be used \(.+\): let DATABASE_URL name .+\.\n$/,
  )
})

test('a file that is not there is refused with the setting', async () => {
  const none = urlOf('127.0.0.1', { sslmode: 'verify-full', sslrootcert: '/nowhere/ca.pem' })
  const { status, stderr } = await runCommand(['user', 'list'], { DATABASE_URL: none })
  expect(status).toBe(1)
  expect(stderr).toMatch(/^DATABASE_URL cannot be used: ENOENT.+\/nowhere\/ca.pem'\.\n$/)
  expect(stderr).not.toContain('secret')
  expect(() => connectionOf(urlOf('127.0.0.1', { sslnegotiation: 'perhaps' }))).toThrow('postgres or direct')
})

test('a server that the database lets in no more answers 503, and goes on when it does', async () => {
  const client = toClient(OPAQUE)
  const url = urlOf('127.0.0.1', verified())
  const database = { url: inside, query: async () => [], drop: async () => {} }
  const server = await startServer(
    { DATABASE_URL: url },
    { database, seed: { clients: [OPAQUE] }, makesKeys: true },
  )
  const ours = `from pg_stat_activity where usename = 'app'`
  const loseConnections = async () => execute(inside, `select pg_terminate_backend(pid, 5000) ${ours}`)
  const status = async () => statusOf(requestToken(server, client))
  expect(await status()).toBe(200)
  expect(
    await execute(inside, `select distinct ssl from pg_stat_ssl where pid in (select pid ${ours})`),
  ).toEqual([{ ssl: true }])

  await execute(inside, `alter role app password 'another'`)
  await loseConnections()
  expect(await status()).toBe(503)
  expect(await statusOf(server.get('/readyz'))).toBe(503)
  expect(await statusOf(server.get('/jwks'))).toBe(200)
  await execute(inside, `alter role app password 'secret'`)
  await expect.poll(status).toBe(200)

  await show(await certify('/CN=database', { extensions: named('IP:127.0.0.1') }))
  await expect.poll(() => codeOf(url)).toBe('DEPTH_ZERO_SELF_SIGNED_CERT')
  await loseConnections()
  expect(await status()).toBe(503)
  await show(await namesOf('IP:127.0.0.1'))
  await expect.poll(status).toBe(200)
  expect(server.output()).not.toContain('another')
})

test.each(['postgres', 'direct'])(
  'what is cancelled is so by TLS, negotiated as the connection was: %s',
  async (sslnegotiation) => {
    const first: Buffer[] = []
    const way = createServer((socket) => {
      const other = connect(port, '127.0.0.1')
      socket
        .once('data', (bytes) => first.push(Buffer.from(bytes)))
        .pipe(other)
        .pipe(socket)
      for (const one of [socket, other]) one.on('error', () => {})
    }).listen(0, '127.0.0.1')
    await once(way, 'listening')
    const url = new URL(urlOf('127.0.0.1', { ...verified(), sslnegotiation }))
    url.port = String((way.address() as AddressInfo).port)
    await withClient({ url: url.href }, async (client) => {
      const slept = client.query('select pg_sleep(600)').catch((error: NodeJS.ErrnoException) => error.code)
      await expect
        .poll(async () =>
          execute(
            inside,
            `select 1 as one from pg_stat_activity where query like '%pg_sleep(600)%' and state = 'active' and usename = 'app'`,
          ),
        )
        .toHaveLength(1)
      await cancel(client, 5000)
      expect(await slept).toBe('57014')
    })
    way.close()
    // SSLRequest (PostgreSQL's protocol §55.2.10), or a handshake.
    const begin = sslnegotiation === 'direct' ? /^16/ : /^0000000804d2162f$/
    expect(first.map((bytes) => bytes.toString('hex'))).toEqual([
      expect.stringMatching(begin),
      expect.stringMatching(begin),
    ])
  },
)
