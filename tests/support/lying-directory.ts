/** A directory that answers what it is told to: for what an honest one never does. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { BerReader, BerWriter } from 'ldapts'
import { atEndOfFile } from './cleanup.ts'

/** The tags of RFC 4511 §4.2, §4.5 and §4.12, of what is asked and of what ends the answer. */
const OPERATIONS = {
  bind: { asked: 0x60, ended: 0x61 },
  search: { asked: 0x63, ended: 0x65 },
  extended: { asked: 0x77, ended: 0x78 },
} as const
const ENTRY = 0x64
const SET = 0x31
const OCTET_STRING = 0x04

export interface Question {
  readonly operation: keyof typeof OPERATIONS
  readonly id: number
  /** Whose password it is, or where is searched. */
  readonly dn: string
  /** Who was tried last on the connection; `''` for nobody. */
  readonly boundAs: string
  /** All of it, as it came. */
  readonly text: string
}

/** The messages that answer it; with none the connection is closed. */
export type Answer = (question: Question) => readonly Buffer[]

/** That it is done, with a result code (RFC 4511 Appendix A). */
export function done({ operation, id }: Question, code = 0, why = ''): Buffer {
  return message(id, OPERATIONS[operation].ended, (writer) => {
    writer.writeEnumeration(code)
    writer.writeString('')
    writer.writeString(why)
  })
}

export function entry(
  { id }: Question,
  dn: string,
  attributes: Readonly<Record<string, string | Buffer>>,
): Buffer {
  return message(id, ENTRY, (writer) => {
    writer.writeString(dn)
    writer.startSequence()
    for (const [name, value] of Object.entries(attributes)) {
      writer.startSequence()
      writer.writeString(name)
      writer.startSequence(SET)
      writer.writeBuffer(Buffer.from(value as string), OCTET_STRING)
      writer.endSequence()
      writer.endSequence()
    }
    writer.endSequence()
  })
}

function message(id: number, tag: number, write: (writer: BerWriter) => void): Buffer {
  const writer = new BerWriter()
  writer.startSequence()
  writer.writeInt(id)
  writer.startSequence(tag)
  write(writer)
  writer.endSequence()
  writer.endSequence()
  return Buffer.from(writer.buffer)
}

/** Until the end of the file. Where a certificate is given, what follows an answer to `extended` is under TLS. */
export async function startLyingDirectory(
  answer: Answer,
  certificate?: { readonly cert: string; readonly key: string },
): Promise<{ readonly url: string }> {
  const sockets = new Set<Socket>()
  function listenTo(socket: Socket): void {
    sockets.add(socket.on('error', () => {}))
    let boundAs = ''
    socket.on('data', (bytes: Buffer) => {
      const question = questionIn(bytes, boundAs)
      if (question === undefined) return
      if (question.operation === 'bind') boundAs = question.dn
      const answers = answer(question)
      if (answers.length === 0) {
        socket.destroy()
        return
      }
      // In one piece.
      socket.write(Buffer.concat(answers))
      if (question.operation !== 'extended') return
      socket.removeAllListeners('data')
      listenTo(new TLSSocket(socket, { isServer: true, ...certificate }))
    })
  }
  const server = createServer(listenTo).listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEndOfFile(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `ldap://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Undefined for what is none of these operations, such as the end of a connection. */
function questionIn(bytes: Buffer, boundAs: string): Question | undefined {
  const reader = new BerReader(bytes)
  reader.readSequence()
  const id = reader.readInt() ?? 0
  const tag = reader.readSequence()
  const found = Object.entries(OPERATIONS).find(([, { asked }]) => asked === tag)
  if (found === undefined) return undefined
  const operation = found[0] as Question['operation']
  if (operation === 'bind') reader.readInt()
  const dn = operation === 'extended' ? '' : (reader.readString() ?? '')
  return { operation, id, dn, boundAs, text: bytes.toString('latin1') }
}
