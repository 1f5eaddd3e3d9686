/**
 * Whatever address it is given, by whichever way, the server connects to nothing but the public internet (SSRF), and what it is told
 * there harms nobody. What the guard makes of names that change where they lead, and of answers that never end, is in
 * `tests/services/outbound`; here is that nothing goes around it.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { isPublicAddress } from '../../src/protocol/public-address.ts'
import { startReceiver } from '../support/receiver.ts'
import { startGround } from './outbound/ground.ts'
import { BESIDE, GUARDED, WAYS } from './outbound/ways.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/** Code by which something is asked of another machine; types, and what only listens, are none. */
const ASKING = [
  /(?<![\w.$]|function )fetch\((?!\w+:)|\.fetch\((?!\))/,
  /^import (?!type )[^;'"]*'undici'|\bimport\('undici'\)/m,
  /^import (?!type )[^;'"]*\b(?:request|get|Agent|connect|createConnection|Socket|createSocket|Resolver|lookup|resolve4)\b[^;'"]*'node:(?:https?|http2|net|tls|dgram|dns)(?:\/promises)?'/m,
  /\bimport\('nodemailer'\)|'nodemailer'/,
  /\bnew (?:pg\.)?(?:Client|Connection|Pool)\(/,
  /\bnew (?:WebSocket|EventSource|XMLHttpRequest)\(/,
]

test('every place that asks something of another machine has its row', async () => {
  const found: string[] = []
  for (const folder of ['src', 'plugins'])
    for (const name of await readdir(join(ROOT, folder), { recursive: true })) {
      if (!name.endsWith('.ts') || /(?:^|\/)(?:dist|node_modules)\//.test(name)) continue
      const code = (await readFile(join(ROOT, folder, name), 'utf8')).replaceAll(
        /^\s*(?:\*|\/\/|\/\*).*$/gm,
        '',
      )
      if (ASKING.some((way) => way.test(code))) found.push(`${folder}/${name}`)
    }
  expect(found.toSorted()).toEqual([...Object.keys(GUARDED), ...Object.keys(BESIDE)].toSorted())
})

/** Where undici begins to connect, by whichever way. */
const begun: string[] = []
const note = (message: unknown): void => {
  const { connectParams } = message as { connectParams: { hostname: string; port: string; protocol: string } }
  begun.push(`${connectParams.hostname}:${connectParams.port}`)
}
subscribe('undici:client:beforeConnect', note)
afterAll(() => void unsubscribe('undici:client:beforeConnect', note))

const chunk = Buffer.alloc(65_536)
const bomb = gzipSync(Buffer.alloc(50_000_000))
const inner = await startReceiver((_request, response) => response.end('secret'))
const outer = await startReceiver(({ url }, response) => {
  if (url.includes('/away')) response.writeHead(302, { location: `http://127.0.0.1:${inner.port}/` }).end()
  else if (url.includes('/bomb'))
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      .end(bomb)
  else if (url.includes('/endless')) {
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = (): void => {
      while (!response.destroyed && response.write(chunk)) continue
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  } else if (url.includes('/odd')) response.writeHead(999).end()
  else if (url.includes('/cut')) response.writeHead(200, { 'content-length': '100' }).end('{', () => response.destroy())
  else if (url.includes('/mute')) response.destroy()
  else response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
}) // prettier-ignore
const allowed = `http://127.0.0.1:${outer.port}`
const ground = await startGround([allowed])

test.each(WAYS)('%s asks the address that it was brought to ask', async (_way, ask) => {
  const before = outer.received.length
  begun.length = 0
  await ask(ground, `${allowed}/fine-${before}`)
  expect(begun).toContain(`127.0.0.1:${outer.port}`)
  expect(outer.received.length).toBeGreaterThan(before)
})

const INSIDE = {
  'this machine': '127.0.0.1',
  'this machine by another of its addresses': '127.8.9.10',
  'this machine by a number': '2130706433',
  'this machine in octal': '0177.0.0.1',
  'this machine in hexadecimal': '0x7f000001',
  'this machine in two parts': '127.1',
  'this machine by IPv6': '[::1]',
  'this machine, mapped': '[::ffff:127.0.0.1]',
  'this machine, mapped in hexadecimal': '[::ffff:7f00:1]',
  'this machine by NAT64': '[64:ff9b::7f00:1]',
  'this machine by local NAT64': '[64:ff9b:1::7f00:1]',
  'this machine by 6to4': '[2002:7f00:1::1]',
  'this machine by Teredo': '[2001:0:7f00:1::1]',
  'what is nothing': '0.0.0.0',
  'what is nothing by IPv6': '[::]',
  'a private network': '10.1.2.3',
  'a second private network': '172.16.0.1',
  'a third private network': '192.168.1.1',
  'a network of carriers': '100.64.0.1',
  'a unique local address': '[fd12:3456::1]',
  'a link-local address': '[fe80::1]',
  'a site-local address': '[fec0::1]',
  "a cloud's metadata": '169.254.169.254',
  "a cloud's metadata by IPv6": '[fd00:ec2::254]',
  "a cloud's own host": '168.63.129.16',
  'many at once': '224.0.0.1',
  'everybody': '255.255.255.255',
  'an example': '192.0.2.1',
} // prettier-ignore

test.each(Object.entries(INSIDE))('no way leads to %s (%s)', async (_what, host) => {
  const url = `https://${host}:${inner.port}/`
  const { hostname, host: place } = new URL(url)
  expect(isPublicAddress(hostname.replace(/^\[(.*)\]$/, '$1'))).toBe(false)
  const before = inner.connections()
  for (const [way, ask] of WAYS) {
    begun.length = 0
    const { status, says } = await ask(ground, `${url}x`)
    expect([way, begun.filter((one) => one === place)]).toEqual([way, []])
    expect([way, status < 500]).toEqual([way, true])
    expect([way, says.includes('secret')]).toEqual([way, false])
  }
  expect(inner.connections()).toBe(before)
})

test.each(['/away', '/bomb', '/endless', '/odd', '/cut', '/mute'])(
  'an answer that is %s reaches nothing, and is told as one that is no good',
  async (path) => {
    const before = [inner.connections(), process.memoryUsage().arrayBuffers]
    for (const [way, ask] of WAYS) {
      const { status, says } = await ask(ground, `${allowed}${path}-${way.replaceAll(/\W/g, '')}`)
      expect([way, status < 500, says.includes('secret')]).toEqual([way, true, false])
    }
    expect(inner.connections()).toBe(before[0])
    expect(process.memoryUsage().arrayBuffers - before[1]!).toBeLessThan(40_000_000)
  },
)

test('of plain http, files and other schemes none is asked', async () => {
  for (const url of [`http://127.0.0.1:${inner.port}/x`, 'http://app.example/x', 'file:///etc/passwd', 'data:application/json,{}', 'gopher://127.0.0.1/x'])
    for (const [way, ask] of WAYS) {
      begun.length = 0
      const { status } = await ask(ground, url).catch((error: unknown) => ({ status: (error as { status?: number }).status ?? 500 }))
      expect([way, url, status < 500]).toEqual([way, url, true])
      expect(begun.filter((one) => one.startsWith('app.example'))).toEqual([])
    }
  expect(inner.connections()).toBe(0)
}) // prettier-ignore
