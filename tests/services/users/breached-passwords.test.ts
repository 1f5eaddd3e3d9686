/** The service that knows which passwords have leaked, at its worst: whatever it does, nobody is kept from a password, and nobody waits for long. */
import { hash, randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { fastify } from 'fastify'
import { expect, test } from 'vitest'
import { createGuardedFetch } from '../../../src/services/outbound/guarded-fetch.ts'
import { createIsBreached } from '../../../src/services/users/breached-passwords.ts'
import { type Received, startReceiver } from '../../support/receiver.ts'
import { freePort } from '../../support/settings.ts'

const PASSWORD = 'a password that leaked from somewhere'
const SUFFIX = hash('sha1', PASSWORD, 'hex').toUpperCase().slice(5)
const LEAKED = `${SUFFIX}:42`
/** What the public service holds for a prefix, since it knows of two thousand million. */
const RANGE = Array.from(
  { length: 2400 },
  () => `${randomBytes(18).toString('hex').slice(1).toUpperCase()}:17`,
)

interface Seen {
  readonly breached: boolean
  readonly warnings: readonly string[]
}

async function ask(base: string): Promise<Seen> {
  const warnings: string[] = []
  const { log } = fastify({ logger: { level: 'warn', stream: { write: (line) => warnings.push(line) } } })
  const fetch = createGuardedFetch({ unsafeOrigins: [new URL(base).origin] })
  const breached = await createIsBreached({ setting: base, fetch, log })(PASSWORD)
  return { breached, warnings }
}

type Answers = (response: ServerResponse, request: Received) => unknown

async function askOne(answer: Answers): Promise<Seen> {
  const service = await startReceiver((request, response) => answer(response, request))
  return ask(`http://127.0.0.1:${service.port}`)
}

test('a range of the size that the public service has is read to its end', async () => {
  const lines = [...RANGE, LEAKED].join('\r\n')
  expect(lines.length).toBeGreaterThan(90_000)
  expect(await askOne((response) => response.end(lines))).toEqual({ breached: true, warnings: [] })
})

const raw =
  (text: string): Answers =>
  (response) =>
    response.socket!.end(text)

test.each<[string, Answers]>([
  ['never answers', () => {}],
  ['hangs after its headers', (response) => response.flushHeaders()],
  ['trickles', (response) => every(20, response, () => response.write('0'))],
  ['has no end', (response) => pour(response, `${'0'.repeat(35)}:1\r\n`.repeat(1000))],
  ['sends one endless line', (response) => pour(response, 'A'.repeat(65_536))],
  ['sends a bomb of gzip', coded('gzip', () => gzipSync(Buffer.alloc(50_000_000)))],
  ['sends a bomb in a bomb', coded('gzip, gzip', () => gzipSync(gzipSync(Buffer.alloc(100_000_000))))],
  ['says gzip of what is none', coded('gzip', () => Buffer.from(LEAKED))],
  ['resets the connection', (response) => response.socket!.resetAndDestroy()],
  ['resets it in its answer', (response) => response.write('0', () => response.socket!.resetAndDestroy())],
  ['promises more than it sends', (response) => response.writeHead(200, { 'content-length': 999 }).write(LEAKED, () => response.socket!.end())],
  ['speaks no HTTP', raw('SSH-2.0-OpenSSH_9.9\r\n')],
  ['has headers without end', (response) => pour(response.socket!, `HTTP/1.1 200 OK\r\n${'x-a: b\r\n'.repeat(5000)}`)],
  ['says again and again that it goes on', (response) => every(5, response, () => response.writeProcessing())],
  ['answers 500', (response) => response.writeHead(500).end(LEAKED)],
  ['answers 404', (response) => response.writeHead(404).end(LEAKED)],
  ['answers 206', (response) => response.writeHead(206).end(LEAKED)],
  ['answers 204', (response) => response.writeHead(204).end()],
  ['asks for a sign-in', (response) => response.writeHead(401, { 'www-authenticate': 'Basic realm="a"' }).end(LEAKED)],
  ['answers with a status that is none', raw(`HTTP/1.1 999 Odd\r\nconnection: close\r\n\r\n${LEAKED}`)],
  ['redirects to what answers', (response, { url }) => url.startsWith('/range/') ? response.writeHead(302, { location: '/elsewhere' }).end() : response.end(LEAKED)],
])('a service that %s lets the password pass, and the log says so', async (_does, answer) => {
  const { breached, warnings } = await askOne(answer)
  expect(breached).toBe(false)
  expect(warnings).toEqual([expect.stringContaining('could not be found out; it is taken')])
}) // prettier-ignore

test.each<[string, () => Promise<string>]>([
  ['where nobody listens', async () => `http://127.0.0.1:${await freePort()}`],
  ['whose name leads nowhere', async () => 'http://pwned.invalid'],
  ['within our network that nobody named', async () => 'https://10.0.0.1'],
])('a service %s lets the password pass', async (_where, base) => {
  const { breached, warnings } = await ask(await base())
  expect(breached).toBe(false)
  expect(warnings).toHaveLength(1)
})

test.each([
  ['nothing', ''],
  ['bytes of no text', randomBytes(4096)],
  ['a page', `<!doctype html><title>Sign in to the network</title>${SUFFIX}`],
  ['JSON', JSON.stringify({ [SUFFIX]: 42 })],
  ['no count', SUFFIX],
  ['an empty count', `${SUFFIX}:`],
  ['a count of words', `${SUFFIX}:many`],
  ['a count below nothing', `${SUFFIX}:-1`],
  ['a line that fills it up', `${SUFFIX}:0`],
  ['a suffix with more before it', `00${SUFFIX}:42`],
])('an answer of %s names no password', async (_what, body) => {
  expect(await askOne((response) => response.end(body))).toEqual({ breached: false, warnings: [] })
})

function coded(coding: string, body: () => Buffer): Answers {
  return (response) => response.writeHead(200, { 'content-encoding': coding }).end(body())
}

/** Until the connection is closed. */
function every(milliseconds: number, response: ServerResponse, act: () => unknown): void {
  const timer = setInterval(act, milliseconds)
  response.on('close', () => clearInterval(timer))
}

/** As fast as it is read. */
function pour(into: ServerResponse | NonNullable<ServerResponse['socket']>, piece: string): void {
  into.on('error', () => {})
  const more = (): void => {
    while (!into.destroyed && into.write(piece));
  }
  into.on('drain', more)
  more()
}
