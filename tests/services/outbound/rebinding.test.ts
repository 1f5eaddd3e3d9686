/** Names that lead elsewhere the second time, by a name server of the test's own: what was checked is what is connected to. */
import { expect, test } from 'vitest'
import { OutboundError } from '../../../src/doors/outbound.ts'
import { createGuardedFetch } from '../../../src/services/outbound/guarded-fetch.ts'
import { createResolve } from '../../../src/services/outbound/resolver.ts'
import { createCertificate } from '../../support/deployed.ts'
import { startNameServer } from '../../support/name-server.ts'
import { startReceiver } from '../../support/receiver.ts'

const PUBLIC = '127.0.0.2'
const certificate = await createCertificate('app.test', 'mixed.test', 'late.test')
const outer = await startReceiver((_request, response) => response.end('public'), {
  certificate,
  host: PUBLIC,
})
// The same port, so that nothing but the address tells them apart.
const inner = await startReceiver((_request, response) => response.end('secret'), {
  certificate,
  port: outer.port,
})

/** By the name: what each question for an A record is answered with, the last of them from then on. */
const answers: Record<string, string[][]> = {
  'app.test': [[PUBLIC], ['127.0.0.1']],
  'mixed.test': [['127.0.0.1', PUBLIC, '10.0.0.1']],
  'late.test': [['127.0.0.1'], [PUBLIC]],
}
const turns = new Map<string, number>()
const names = await startNameServer((name, type) => {
  if (type !== 'A') return type === 'AAAA' && name === 'mixed.test' ? ['::1', 'fe80::1', '::ffff:7f00:1'] : []
  const turn = turns.get(name) ?? 0
  turns.set(name, turn + 1)
  const said = answers[name] ?? []
  return said[Math.min(turn, said.length - 1)] ?? []
})
const fetch = createGuardedFetch({
  unsafeOrigins: [],
  resolve: createResolve([names.address]),
  isPublic: (address) => address === PUBLIC,
})
const textOf = async (name: string) =>
  (await fetch(`https://${name}:${outer.port}/`, { maxBytes: 1000 })).text()

test('a name that leads to this machine the second time is connected to where it led when it was checked', async () => {
  expect(await textOf('app.test')).toBe('public')
  expect(turns.get('app.test')).toBe(1)
  await expect(textOf('app.test')).rejects.toThrow(OutboundError)
  expect(inner.connections()).toBe(0)
})

test('of many addresses of both kinds only the public one is connected to', async () => {
  expect(await textOf('mixed.test')).toBe('public')
  expect(names.asked).toContain('AAAA mixed.test')
  expect(inner.connections()).toBe(0)
})

test('a name that leads to this machine at first is refused, and may be asked for again', async () => {
  await expect(textOf('late.test')).rejects.toThrow(OutboundError)
  expect(await textOf('late.test')).toBe('public')
  expect(inner.connections()).toBe(0)
})
