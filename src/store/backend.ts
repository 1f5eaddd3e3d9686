/** What of `pg`'s connections its types do not tell: which backend serves one, whether it is busy, and how to have it stop. */
import type { Socket } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'

/** As `pg` 8 has them. */
interface Internals {
  readonly host: string
  readonly port: number
  readonly processID: number | null
  readonly secretKey: number | null
  readonly connection: Connection
  readonly _ended: boolean
  readonly readyForQuery?: boolean
}

interface Connection extends pg.Connection {
  readonly stream: Socket
  readonly ssl: pg.ClientConfig['ssl']
  readonly sslNegotiation: 'postgres' | 'direct'
  connect(port: number | string, host?: string): void
  requestSsl(): void
  cancel(processId: number, secretKey: number): void
}

export interface Backend {
  /** 0 for none. */
  readonly pid: number
  /** The socket is closed by both sides: where nothing stands between, its backend is gone. */
  readonly gone: boolean
  /** A statement was sent that is not answered to its end. */
  readonly busy: boolean
}

export function backendOf(client: pg.ClientBase): Backend {
  const { processID, _ended, readyForQuery } = internalsOf(client)
  return { pid: processID ?? 0, gone: _ended, busy: readyForQuery === false }
}

/** Terminate, PostgreSQL's protocol §55.7. */
const TERMINATE = Buffer.from([0x58, 0, 0, 0, 4])

/**
 * Has its backend end, on one that is not busy; resolves when it has. Our side stays open until then: what stands between
 * might close this before that is gone.
 */
export async function hangUp(client: pg.ClientBase): Promise<void> {
  return new Promise((resolve) => {
    client.once('end', resolve)
    internalsOf(client).connection.stream.write(TERMINATE)
  })
}

/** Ends our side of it, whatever goes on there. */
export function drop(client: pg.ClientBase): void {
  internalsOf(client).connection.stream.destroy()
}

/**
 * Asks its backend, on a connection for that alone, to stop what it does (CancelRequest, PostgreSQL's protocol §55.2.8); by TLS where
 * the other one is. Resolves when PostgreSQL has heard it, or after `limit` milliseconds; it never says whether there was anything to stop.
 */
export async function cancel(client: pg.ClientBase, limit: number): Promise<void> {
  const { host, port, processID, secretKey, connection } = internalsOf(client)
  if (processID === null || secretKey === null) return
  const { ssl = false, sslNegotiation } = connection
  const asker = new pg.Connection({ ssl, sslNegotiation } as pg.ConnectionConfig) as Connection
  const ask = (): void => asker.cancel(processID, secretKey)
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => {
      asker.stream.destroy()
      resolve()
    }, limit)
    asker
      .on('error', () => {})
      .once('end', () => {
        clearTimeout(timer)
        resolve()
      })
      .once('sslconnect', ask)
      .once('connect', () => {
        if (!ssl) ask()
        else if (sslNegotiation !== 'direct') asker.requestSsl()
      })
    if (host.startsWith('/')) asker.connect(join(host, `.s.PGSQL.${port}`))
    else asker.connect(port, host)
  })
}

function internalsOf(client: pg.ClientBase): Internals {
  return client as unknown as Internals
}
