/** What of `pg`'s connections its types do not tell: which backend serves one, whether it is busy, and how to have it stop. */
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type pg from 'pg'

/** As `pg` 8 has them. */
interface Internals {
  readonly host: string
  readonly port: number
  readonly processID: number | null
  readonly secretKey: number | null
  readonly connection: { readonly stream: Socket }
  readonly _ended: boolean
  readonly readyForQuery?: boolean
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

/** CancelRequest, PostgreSQL's protocol §55.2.8: 16 bytes, length first. */
const CANCEL = 80_877_102

/**
 * Asks its backend, on a connection for that alone, to stop what it does. Resolves when PostgreSQL has heard it, or after
 * `limit` milliseconds; it never says whether there was anything to stop.
 */
export async function cancel(client: pg.ClientBase, limit: number): Promise<void> {
  const { host, port, processID, secretKey } = internalsOf(client)
  if (processID === null || secretKey === null) return
  const request = Buffer.alloc(16)
  for (const [index, value] of [16, CANCEL, processID, secretKey].entries())
    request.writeInt32BE(value | 0, index * 4)
  const socket = host.startsWith('/') ? connect(join(host, `.s.PGSQL.${port}`)) : connect(port, host)
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => socket.destroy(), limit)
    socket
      .on('error', () => {})
      .once('close', () => {
        clearTimeout(timer)
        resolve()
      })
    socket.resume().end(request)
  })
}

function internalsOf(client: pg.ClientBase): Internals {
  return client as unknown as Internals
}
