/** A mail server of somebody else's (RFC 5321), which can be away, slow, full, or refuse: on a port of this machine. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { createInterface } from 'node:readline'
import { readFile } from 'node:fs/promises'
import { atEndOfFile } from './cleanup.ts'
import type { Certificate } from './deployed.ts'

export interface ReceivedMail {
  from: string
  to: string
  headers: ReadonlyMap<string, string>
  text: string
  html: string
}

/** What it answers; null for nothing at all. */
export interface Replies {
  greeting: string | null
  auth: string | null
  from: string | null
  recipient: (address: string) => string | null
  /** To the mail itself. */
  data: string | null
}

export interface SmtpServer {
  port: number
  /** What it took so far. */
  mails: ReceivedMail[]
  /** What it was asked, without the mails. */
  commands: string[]
  /** From now on. */
  replies: Replies
  /** Connections that are open. */
  open(): number
  close(): Promise<void>
}

export const WELL: Replies = {
  greeting: '220 mail.example ESMTP',
  auth: '235 2.7.0 accepted',
  from: '250 2.1.0 ok',
  recipient: () => '250 2.1.5 ok',
  data: '250 2.0.0 queued',
}

export interface SmtpServerOptions {
  port?: number
  /** TLS from the first byte. */
  certificate?: Certificate
}

export async function startSmtpServer({
  port = 0,
  certificate,
}: SmtpServerOptions = {}): Promise<SmtpServer> {
  const sockets = new Set<Socket>()
  const state: Pick<SmtpServer, 'mails' | 'commands' | 'replies'> = {
    mails: [],
    commands: [],
    replies: { ...WELL },
  }
  const serve = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    converse(socket, state)
  }
  const server =
    certificate === undefined
      ? createServer(serve)
      : createTlsServer(
          { cert: await readFile(certificate.certificate), key: await readFile(certificate.key) },
          serve,
        )
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = atEndOfFile(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return Object.assign(state, {
    port: (server.address() as AddressInfo).port,
    open: () => sockets.size,
    close,
  })
}

function converse(socket: Socket, state: Pick<SmtpServer, 'mails' | 'commands' | 'replies'>): void {
  let envelope = { from: '', to: '' }
  let lines: string[] | undefined
  const say = (reply: string | null): void => void (reply !== null && socket.write(`${reply}\r\n`))
  say(state.replies.greeting)
  createInterface({ input: socket, crlfDelay: Infinity }).on('line', (line) => {
    const { replies } = state
    if (lines !== undefined) {
      if (line !== '.') return void lines.push(line.replace(/^\./, ''))
      if (replies.data?.startsWith('2')) state.mails.push({ ...envelope, ...parseMail(lines) })
      lines = undefined
      return say(replies.data)
    }
    state.commands.push(line)
    const [verb = ''] = line.toUpperCase().split(/[ :]/)
    const address = /<([^>]*)>/.exec(line)?.[1] ?? ''
    if (verb === 'EHLO') return say('250-mail.example\r\n250-AUTH PLAIN\r\n250 ENHANCEDSTATUSCODES')
    if (verb === 'AUTH') return say(replies.auth)
    if (verb === 'MAIL') {
      envelope = { ...envelope, from: address }
      return say(replies.from)
    }
    if (verb === 'RCPT') {
      envelope = { ...envelope, to: address }
      return say(replies.recipient(address))
    }
    if (verb === 'DATA') {
      lines = []
      return say('354 go on')
    }
    if (verb !== 'QUIT') return say('250 2.0.0 ok')
    say('221 2.0.0 bye')
    socket.end()
    return undefined
  })
}

/** Of a mail of ours: one part, or two of which one is chosen (RFC 2046 §5.1.4). */
function parseMail(lines: readonly string[]): Pick<ReceivedMail, 'headers' | 'text' | 'html'> {
  const { headers, body } = split(lines.join('\n'))
  const boundary = /boundary="([^"]+)"/.exec(headers.get('content-type') ?? '')?.[1]
  const parts = boundary === undefined ? [{ headers, body }] : body.split(`--${boundary}`).slice(1, -1).map((part) => split(part.trimStart()))
  const find = (type: string): string => {
    const part = parts.find((one) => one.headers.get('content-type')?.startsWith(type))
    return part === undefined ? '' : decode(part.body, part.headers.get('content-transfer-encoding'))
  }
  return { headers, text: find('text/plain'), html: find('text/html') }
} // prettier-ignore

function split(message: string): { headers: Map<string, string>; body: string } {
  const [head = '', ...rest] = message.split('\n\n')
  const unfolded = head.replaceAll(/\n[ \t]+/g, ' ').split('\n')
  const pairs = unfolded.map((line) => [line.split(':', 1)[0]!.toLowerCase(), line.slice(line.indexOf(':') + 1).trim()] as const)
  return { headers: new Map(pairs), body: rest.join('\n\n') }
} // prettier-ignore

function decode(body: string, encoding = '7bit'): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString()
  if (encoding !== 'quoted-printable') return body
  const bytes = body
    .replaceAll('=\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
