/**
 * One connection to the directory, for one question: under TLS where that is asked for, and as the service. It is never opened anew by itself,
 * since what was to go by TLS would then go without. `ldapts` is loaded with the first.
 */
import { readFile } from 'node:fs/promises'
import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import type { Client } from 'ldapts'
import { OAuthError } from '../../src/protocol/errors.ts'
import type { LdapConfig } from '../../src/settings/ldap.ts'
import { waitAtMost } from '../../src/store/patience.ts'

type Failure = 'unreachable' | 'silent' | 'unusable'

/**
 * Why there is no answer: `unreachable` is a matter of the network, `silent` one of time, so that it may still do what it was asked, and
 * `unusable` one of settings. Its message is for operators: it has no password.
 */
export class DirectoryFailure extends Error {
  override readonly name = 'DirectoryFailure'
  readonly failure: Failure

  constructor(failure: Failure, why: string, options?: ErrorOptions) {
    super(why, options)
    this.failure = failure
  }
}

/** What failed while a connection was used, and was not asked of the directory. */
class Elsewhere extends Error {}

/** Does what asks somebody else, such as the database: what it throws is no failure of the directory. */
export async function elsewhere<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new Elsewhere('not of the directory', { cause: error })
  }
}

export interface Connection {
  readonly client: Client
  /** As the entry that looks people up; nothing where nobody is named. Milliseconds that it took. */
  bindAsService(): Promise<number>
}

const START_TLS = '1.3.6.1.4.1.1466.20037'
/** Milliseconds for everything that one question takes. */
export const PATIENCE = 5000

/** Runs `work` over a connection that is gone afterwards. Throws `DirectoryFailure`, and what `work` refuses by itself. */
export async function withConnection<T>(
  config: LdapConfig,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const sockets: Socket[] = []
  const { promise: lost, reject: lose } = Promise.withResolvers<never>()
  const { promise: tooLate, reject: giveUp } = Promise.withResolvers<never>()
  const endOfWait = waitAtMost(PATIENCE, () => {
    giveUp(new DirectoryFailure('silent', `it did not answer within ${PATIENCE / 1000} s`))
  })
  try {
    return await Promise.race([ask(config, { sockets, lose }, work), tooLate, lost])
  } catch (error) {
    if (error instanceof Elsewhere) throw error.cause
    throw error instanceof OAuthError ? error : toFailure(error)
  } finally {
    endOfWait()
    for (const socket of sockets) socket.destroy()
  }
}

/** What becomes of a connection while it is used. */
interface Fate {
  readonly sockets: Socket[]
  lose(error: DirectoryFailure): void
}

async function ask<T>(
  config: LdapConfig,
  fate: Fate,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const client = await clientOver(await openSecured(config, fate), config)
  const bindAsService = async (): Promise<number> => {
    if (config.service === null) return 0
    const begun = performance.now()
    try {
      await client.bind(config.service.dn, config.service.password)
    } catch (error) {
      if (codeOf(error) === undefined) throw error
      throw new DirectoryFailure('unusable', `it does not let LDAP_BIND_DN in: ${whyOf(error)}`, {
        cause: error,
      })
    }
    return performance.now() - begun
  }
  await bindAsService()
  return work({ client, bindAsService })
}

async function clientOver(socket: Socket, { url }: LdapConfig): Promise<Client> {
  const { Client } = await import('ldapts')
  let isUsed = false
  return new Client({
    url: `ldap://${url.host}`,
    // What lost its connection opens another one, plain, and would go on over that.
    createConnection: () => {
      if (isUsed) throw new DirectoryFailure('unreachable', 'the connection was lost')
      isUsed = true
      return socket
    },
  })
}

async function tlsOptions({ url, caFile }: LdapConfig): Promise<ConnectionOptions> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const ca =
    caFile === undefined
      ? undefined
      : await readFile(caFile, 'utf8').catch((error: unknown) => {
          throw new DirectoryFailure('unusable', `LDAP_CA_FILE cannot be read: ${(error as Error).message}`)
        })
  return {
    host,
    minVersion: 'TLSv1.2',
    ...(ca === undefined ? {} : { ca }),
    ...(isIP(host) === 0 ? { servername: host } : {}),
  }
}

async function openSecured(config: LdapConfig, fate: Fate): Promise<Socket> {
  const { url, startTls } = config
  const tls = await tlsOptions(config)
  const isTls = url.protocol === 'ldaps:'
  const to = { host: tls.host!, port: Number(url.port === '' ? (isTls ? 636 : 389) : url.port) }
  if (isTls) return opened(connectTls({ ...tls, ...to }), 'secureConnect', fate)
  const socket = await opened(connectPlain(to), 'connect', fate)
  if (!startTls) return socket
  await askForTls(socket, await clientOver(socket, config))
  return opened(connectTls({ ...tls, socket }), 'secureConnect', fate)
}

/** RFC 4511 §4.14. What reads the answer reads nothing else: it would take what somebody put behind it for the beginning of what comes under TLS. */
async function askForTls(socket: Socket, client: Client): Promise<void> {
  const { BerReader } = await import('ldapts')
  const said: Buffer[] = []
  socket.on('data', (bytes: Buffer) => said.push(bytes))
  await client.exop(START_TLS)
  socket.removeAllListeners('data')
  const answer = new BerReader(Buffer.concat(said))
  answer.readSequence()
  if (answer.remain !== answer.length)
    throw new DirectoryFailure('unreachable', 'it said more than its answer before TLS')
}

async function opened(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  { sockets, lose }: Fate,
): Promise<Socket> {
  sockets.push(socket)
  await new Promise<void>((resolve, reject) => {
    socket.once(event, resolve)
    socket.once('error', reject)
  })
  socket.removeAllListeners('error')
  // Between two questions nobody else hears of it.
  socket.on('error', () => {})
  // Also in between, when the client does not listen.
  socket.on('close', () =>
    setImmediate(() => lose(new DirectoryFailure('unreachable', 'it closed the connection'))),
  )
  return socket
}

/** The result code of the directory (RFC 4511 §4.1.9); undefined for what it has not said. */
export function codeOf(error: unknown): number | undefined {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'number' ? code : undefined
}

/** Busy and unavailable; else the directory does not do what the settings have it asked. */
export const PASSING: ReadonlySet<number> = new Set([51, 52])

function toFailure(error: unknown): DirectoryFailure {
  if (error instanceof DirectoryFailure) return error
  const code = codeOf(error)
  const failure = code === undefined || PASSING.has(code) ? 'unreachable' : 'unusable'
  return new DirectoryFailure(failure, whyOf(error), { cause: error })
}

function whyOf(error: unknown): string {
  const { message, code } = error as { message: string; code?: unknown }
  // Of several addresses that were tried, each has its own.
  const said = message === '' && typeof code === 'string' ? code : message
  return said.replaceAll(/\s+/g, ' ').trim().slice(0, 300)
}
