/** A name server of the test's own (RFC 1035), which says what it is told to say, and another thing the next time. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { atEndOfFile } from './cleanup.ts'

export interface NameServer {
  /** For `createResolve`. */
  address: string
  /** Questions so far, such as `A app.test`. */
  asked: string[]
}

const TYPES: Readonly<Record<number, string>> = { 1: 'A', 28: 'AAAA' }

/** `answer` gives addresses of the type, for each question anew; every answer lives for no second. */
export async function startNameServer(
  answer: (name: string, type: string) => readonly string[],
): Promise<NameServer> {
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query)
    asked.push(`${type} ${name}`)
    const records = answer(name, type).map((one) => recordOf(one))
    const header = Buffer.from(query.subarray(0, 12))
    header.writeUInt16BE(0x8180, 2)
    header.writeUInt16BE(records.length, 6)
    header.writeUInt32BE(0, 8)
    socket.send(Buffer.concat([header, query.subarray(12, end), ...records]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  atEndOfFile(async () => {
    socket.close()
    await once(socket, 'close')
  })
  return { address: `127.0.0.1:${socket.address().port}`, asked }
}

function questionOf(query: Buffer): { name: string; type: string; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = query.readUInt16BE(at + 1)
  return { name: labels.join('.').toLowerCase(), type: TYPES[type] ?? String(type), end: at + 5 }
}

function recordOf(address: string): Buffer {
  const data = address.includes(':') ? ipv6(address) : Buffer.from(address.split('.').map(Number))
  const head = Buffer.alloc(12)
  // The name of the question.
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(data.length === 4 ? 1 : 28, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(0, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function ipv6(address: string): Buffer {
  const [left = '', right = ''] = address.split('::')
  const words = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((one) => parseInt(one, 16))
  const [before, after] = [words(left), words(right)]
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after]
  return Buffer.from(all.flatMap((word) => [word >> 8, word & 0xff]))
}
