/**
 * The listener of MTLS_PORT: TLS of our own that asks clients for a certificate (RFC 8705 §2). What it has decrypted goes to the server's own
 * HTTP, with its limits and its routes; who may come with which certificate is judged there.
 */
import { once } from 'node:events'
import { unwatchFile, watchFile } from 'node:fs'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createServer, type SecureContextOptions, type Server } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import { noteAsked } from '../http/own-tls.ts'
import { readIdentity } from '../services/tls-identity.ts'
import { listenOn } from './listen-on.ts'

export interface CertificateListener {
  /** Nobody new is let in; ends when all that came have gone. */
  close(): Promise<void>
}

/** Those of TLS 1.3, and of TLS 1.2 what RFC 9325 §4.2 recommends, which is all that FAPI 2.0 allows (§5.2.2). */
const SUITES = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
]
/** Milliseconds between two looks at the files: certificates are renewed while the server runs. */
const LOOK_EVERY = 60_000
const HANDSHAKE = 10_000
/** In which the second of two files is noticed, too. */
const TOGETHER = 100
/** For whom a stop meets in a handshake: their request may have been sent already. */
const PARTING = 1000

/**
 * Listens where MTLS_PORT and MTLS_HOST say, if they do. Throws `ConfigError` where it cannot, or the files hold no certificate with
 * its key.
 */
export async function listenForCertificates(
  config: Config,
  { server, log }: FastifyInstance,
  lookEvery = LOOK_EVERY,
): Promise<CertificateListener | undefined> {
  const { MTLS_PORT: port, MTLS_HOST: host = config.HOST } = config
  if (port === undefined) return undefined
  const listener = createServer(
    {
      ...(await secureContext(config)),
      requestCert: true,
      // Also those of no authority: a client may have registered its own.
      rejectUnauthorized: false,
      handshakeTimeout: HANDSHAKE,
      ALPNProtocols: ['http/1.1'],
    },
    (connection) => {
      noteAsked(connection)
      server.emit('connection', connection)
    },
  )
  const strangers = strangersOf(listener)
  listener.on('tlsClientError', (error, connection) => {
    log.debug({ error: error.message }, 'a TLS handshake failed')
    // Also one that took too long, which Node leaves open.
    connection.destroy()
  })
  await listenOn(listener, 'MTLS_PORT', port, host)
  log.info({ port, host }, 'clients are asked for their certificates')
  const files = [config.MTLS_CERTIFICATE!, config.MTLS_KEY!]
  async function renew(): Promise<void> {
    try {
      listener.setSecureContext(await secureContext(config))
      log.info({ files }, 'the certificate of MTLS_PORT is read anew')
    } catch (error) {
      // One of two files may be there before the other.
      log.warn(
        { reason: (error as Error).message },
        'the certificate of MTLS_PORT was changed and cannot be used: the former one is shown on',
      )
    }
  }
  let renewing: Promise<void> | undefined
  /** Both files change, and are looked at one after the other: it is read once. */
  const changed = (): void => {
    renewing ??= delay(TOGETHER, undefined, { ref: false }).then(async () => {
      renewing = undefined
      await renew()
    })
  }
  for (const file of files) watchFile(file, { persistent: false, interval: lookEvery }, changed)
  return {
    async close() {
      for (const file of files) unwatchFile(file, changed)
      const closed = once(listener, 'close')
      listener.close()
      await Promise.race([closed, delay(PARTING, undefined, { ref: false })])
      for (const stranger of strangers.values()) stranger.destroy()
      await closed
    },
  }
}

async function secureContext(config: Config): Promise<SecureContextOptions> {
  return {
    ...(await readIdentity(config)),
    // Who issues clients' certificates is for CLIENT_CERTIFICATE_AUTHORITIES, and not for whoever the system trusts with web sites.
    ca: [],
    minVersion: 'TLSv1.2',
    ciphers: SUITES.join(':'),
  }
}

/** Connections that have not got through a handshake: nothing of theirs is under way. */
function strangersOf(listener: Server): ReadonlyMap<string, Socket> {
  const strangers = new Map<string, Socket>()
  const nameOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
  listener.on('connection', (socket: Socket) => {
    const name = nameOf(socket)
    strangers.set(name, socket)
    socket.once('close', () => strangers.delete(name))
  })
  listener.on('secureConnection', (connection) => strangers.delete(nameOf(connection)))
  return strangers
}
