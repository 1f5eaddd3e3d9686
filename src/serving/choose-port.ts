/** Where a server listens: chosen before it is built, since the issuer may name it, and by the first process for all. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { DEFAULT_PORTS } from '../config.ts'
import { type ChosenPort, takenPort } from './workers.ts'

/** The port that was set, with 0 for any; else the default one, or the next that is free, where the default one is taken. */
export async function choosePort(host: string, port: number | undefined): Promise<ChosenPort> {
  if (port === 0) return { port: (await probe(host, 0)) ?? port }
  if (port !== undefined) return { port, taken: takenPort() }
  const { first, last } = DEFAULT_PORTS
  if (await probe(host, first)) return { port: first }
  for (let next = first + 1; next <= last; next++)
    if (await probe(host, next)) return { port: next, taken: first }
  return { port: first }
}

/** The port that listening on `port` gives, or undefined when it is taken. */
async function probe(host: string, port: number): Promise<number | undefined> {
  const server = createServer().listen(port, host)
  try {
    await once(server, 'listening')
    const given = (server.address() as AddressInfo).port
    server.close()
    await once(server, 'close')
    return given
  } catch {
    return undefined
  }
}
