/** OpenLDAP's slapd with a few people, as Debian packages it. Where there is none, what needs it is skipped, and the run says so. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chown, cp, mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Client } from 'ldapts'
import { chooseAccount, identity } from '../../src/services/database/embedded-postgres/account.ts'
import { certify, createAuthority } from './certificates.ts'
import { atEndOfFile, temporaryDirectory } from './cleanup.ts'
import { PATH } from './proxy.ts'
import { freePort } from './settings.ts'
import { until } from './until.ts'

const SLAPD = process.env['SLAPD'] ?? 'slapd'

/** For `describe.skipIf`. */
export const noSlapd = spawnSync(SLAPD, ['-VV'], { env: { PATH } }).error !== undefined

if (noSlapd)
  process.stderr.write(
    `\n!!! SKIPPED: no ${SLAPD}, so sign-in by a directory is NOT tested: install it (apt-get install slapd), or name it by SLAPD.\n\n`,
  )

const BASE = 'dc=example,dc=org'
export const PEOPLE = `ou=people,${BASE}`
export const GROUPS = `ou=groups,${BASE}`
const ROOT = { dn: `cn=root,${BASE}`, password: 'root of the directory' }
export const SERVICE = { dn: `cn=latchkey,${BASE}`, password: 'the service may look' }

export interface Member {
  readonly uid: string
  readonly password?: string
  readonly mail?: string
  readonly displayName?: string
  /** Another name than the uid for its entry. */
  readonly rdn?: string
}

export const ADA = {
  uid: 'ada',
  password: 'analytical engine',
  mail: 'ada@example.org',
  displayName: 'Ada Lovelace',
}
export const CAROL = { uid: 'carol', password: 'a carol for all', displayName: 'Carol Ohne Mail' }

export interface Slapd {
  readonly url: string
  readonly tlsUrl: string
  /** The file of the authority that its certificate is of. */
  readonly caFile: string
  /** What a server needs to ask it. */
  readonly settings: Readonly<Record<string, string>>
  /** As its root. */
  change<T>(work: (client: Client) => Promise<T>): Promise<T>
  add(member: Member): Promise<string>
  /** Ends it at once, and begins it again at the same port. */
  stop(signal?: NodeJS.Signals): Promise<void>
  start(): Promise<void>
  /** Stops and continues the process, so that it listens and says nothing. */
  freeze(isFrozen: boolean): void
  /** The DN of each bind that was tried, and every search's filter. */
  log(): string
}

/** Until the end of the file. */
export async function startSlapd(): Promise<Slapd> {
  const [port, tlsPort] = [await freePort(), await freePort()]
  const directory = await temporaryDirectory()
  const account = await chooseAccount()
  const authority = await createAuthority('the authority of the directory')
  const certificate = await certify('/CN=localhost', {
    issuer: authority,
    extensions: ['basicConstraints = critical, CA:FALSE', 'subjectAltName = IP:127.0.0.1, DNS:localhost'],
  })
  for (const name of ['cert', 'key'] as const) await cp(certificate.files[name], join(directory, name))
  await mkdir(join(directory, 'db'))
  const file = join(directory, 'slapd.conf')
  await writeFile(file, configurationIn(directory))
  if (account.uid !== undefined)
    for (const name of ['', 'db', 'cert', 'key'])
      await chown(join(directory, name), account.uid, account.gid!)
  const url = `ldap://127.0.0.1:${port}`
  const tlsUrl = `ldaps://127.0.0.1:${tlsPort}`
  const lines: string[] = []
  let child: ReturnType<typeof spawn> | undefined

  async function start(): Promise<void> {
    const begun = spawn(SLAPD, ['-h', `${url} ${tlsUrl}`, '-f', file, '-d', 'stats'], {
      ...identity(account),
      env: { PATH },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    begun.stderr.setEncoding('utf8').on('data', (text: string) => lines.push(text))
    child = begun
    await until(async () => {
      if (begun.exitCode !== null) throw new Error(`slapd ended: ${lines.join('')}`)
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      socket.destroy()
    })
  }

  async function stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGCONT')
    child.kill(signal)
    await exit
  }

  async function change<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const client = new Client({ url, timeout: 10_000 })
    try {
      await client.bind(ROOT.dn, ROOT.password)
      return await work(client)
    } finally {
      await client.unbind()
    }
  }

  atEndOfFile(stop)
  await start()
  await change(async (client) => {
    await client.add(BASE, { objectClass: ['dcObject', 'organization'], o: 'Example', dc: 'example' })
    for (const dn of [PEOPLE, GROUPS])
      await client.add(dn, { objectClass: 'organizationalUnit', ou: /=(\w+)/.exec(dn)![1]! })
    const service = { objectClass: ['organizationalRole', 'simpleSecurityObject'], cn: 'latchkey' }
    await client.add(SERVICE.dn, { ...service, userPassword: SERVICE.password })
  })
  const add: Slapd['add'] = async ({ uid, password, mail, displayName, rdn = uid }) => {
    const dn = `uid=${rdn},${PEOPLE}`
    await change(async (client) =>
      client.add(dn, {
        objectClass: 'inetOrgPerson',
        uid: [...new Set([rdn, uid])],
        cn: displayName ?? uid,
        sn: (displayName ?? uid).split(' ').at(-1)!,
        ...(displayName === undefined ? {} : { displayName, givenName: displayName.split(' ')[0]! }),
        ...(mail === undefined ? {} : { mail }),
        ...(password === undefined ? {} : { userPassword: password }),
      }),
    )
    return dn
  }
  await add(ADA)
  await add(CAROL)
  return {
    url,
    tlsUrl,
    caFile: authority.files.cert,
    settings: {
      LDAP_URL: url,
      LDAP_CA_FILE: authority.files.cert,
      LDAP_BASE_DN: PEOPLE,
      LDAP_BIND_DN: SERVICE.dn,
      LDAP_BIND_PASSWORD: SERVICE.password,
    },
    change,
    add,
    stop,
    start,
    freeze: (isFrozen) => void child?.kill(isFrozen ? 'SIGSTOP' : 'SIGCONT'),
    log: () => lines.join(''),
  }
}

const configurationIn = (directory: string): string => `
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
TLSCACertificateFile ${directory}/cert
TLSCertificateFile ${directory}/cert
TLSCertificateKeyFile ${directory}/key
password-hash {SSHA}
database mdb
suffix ${BASE}
rootdn ${ROOT.dn}
rootpw "${ROOT.password}"
directory ${directory}/db
maxsize 16777216
dbnosync
overlay memberof
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="${SERVICE.dn}" read by * none
`
