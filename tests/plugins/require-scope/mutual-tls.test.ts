// Tokens that are bound to certificates in an app of somebody else's: `senderConstraints: [mutualTls()]`, by TLS of its own or
// behind a proxy.
import { request as send } from 'node:https'
import type { AddressInfo } from 'node:net'
import { readFile } from 'node:fs/promises'
import { fastify } from 'fastify'
import { expect, test } from 'vitest'
import requireScope, { mutualTls } from '../../../plugins/require-scope/index.ts'
import { asPem, certify, type TestCertificate } from '../../support/certificates.ts'
import { atEndOfFile } from '../../support/cleanup.ts'
import { createCertificate } from '../../support/deployed.ts'
import { issuedBy, startApp, startIssuer } from './support.ts'

const RESOURCE = 'https://api.example/books'
const [mine, thiefs] = await Promise.all([certify('/CN=app'), certify('/CN=app')])
const thumbprint = Buffer.from(mine.x509.fingerprint256.replaceAll(':', ''), 'hex').toString('base64url')

async function ground() {
  const issuer = await startIssuer()
  const clock = { now: Date.now, advance: () => {} }
  const tokenFor = async (cnf?: object): Promise<string> =>
    issuer.token(issuedBy(clock, { scope: 'read_books', audience: RESOURCE, claims: { cnf } }))
  return { issuer: issuer.url, tokenFor, token: await tokenFor({ 'x5t#S256': thumbprint }) }
}

test('by TLS of its own: the token is good with its certificate alone, whatever a header says', async () => {
  const { issuer, token } = await ground()
  const { certificate, key } = await createCertificate()
  const [cert, privateKey] = await Promise.all([readFile(certificate), readFile(key)])
  const app = fastify({ https: { cert, key: privateKey, requestCert: true, rejectUnauthorized: false } })
  atEndOfFile(async () => app.close())
  await app.register(requireScope, {
    issuer,
    resource: RESOURCE,
    senderConstraints: [mutualTls()],
  })
  app.get('/books', { config: { scope: 'read_books' } }, async () => [])
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const ask = async (shown?: TestCertificate): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, 'client-cert': asPem(mine) }
      const connection = { host: '127.0.0.1', port, rejectUnauthorized: false, agent: false as const }
      const certified = shown === undefined ? {} : { cert: shown.cert, key: shown.key }
      const sent = send({ ...connection, ...certified, path: '/books', headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode!))
      })
      sent.on('error', reject).end()
    })
  expect([await ask(mine), await ask(thiefs), await ask()]).toEqual([200, 401, 401])
})

test('behind a proxy: by the header of one that is named, and of nobody else', async () => {
  const { issuer, tokenFor, token } = await ground()
  const constraint = mutualTls({ header: 'Client-Cert', proxies: ['10.0.0.0/8', '::1'], required: true })
  const app = await startApp({
    issuer,
    resource: RESOURCE,
    senderConstraints: [constraint],
    now: Date.now,
  })
  const ask = async (remoteAddress: string, shown: TestCertificate, bearer = token): Promise<number> => {
    const headers = { authorization: `Bearer ${bearer}`, 'client-cert': asPem(shown) }
    return (await app.inject({ url: '/books', remoteAddress, headers })).statusCode
  }
  expect(await ask('10.1.2.3', mine)).toBe(200)
  expect(await ask('::ffff:10.1.2.3', mine)).toBe(200)
  expect(await ask('::1', mine)).toBe(200)
  expect(await ask('10.1.2.3', thiefs)).toBe(401)
  expect(await ask('192.0.2.1', mine)).toBe(401)
  expect(await ask('10.1.2.3', mine, await tokenFor())).toBe(401)
})

const NO_NETWORKS = [
  'proxy',
  '10.0.0.1/',
  '10.0.0.0/ ',
  '10.0.0.0/8/32',
  '10.0.0.0/0x20',
  '10.0.0.0/8.5',
  '10.0.0.0/abc',
  '10.0.0.0/33',
  '10.0.0.0/-1',
  '::1/129',
  'fe80::1%eth0',
  8,
].map((proxy): [unknown, string] => [
  { header: 'client-cert', proxies: [proxy] },
  'mutualTls: proxies must list addresses',
])

test.each<[unknown, string]>([
  ...NO_NETWORKS,
  [{ header: 'client-cert' }, 'mutualTls: header needs proxies'],
  [{ header: 'client-cert', proxies: [] }, 'mutualTls: header needs proxies'],
  [{ header: 'client-cert', proxies: '10.0.0.0/8' }, 'mutualTls: proxies must list addresses'],
  [{ header: 'a header', proxies: ['::1'] }, 'mutualTls: header must be the name of one'],
  [{ header: 5, proxies: ['::1'] }, 'mutualTls: header must be the name of one'],
  [{ proxies: ['10.0.0.0/8'] }, 'mutualTls: proxies go with a header'],
  [{ required: 'true' }, 'mutualTls: required must be true or false'],
  [{ require: true }, 'mutualTls: there is no option require'],
  [null, 'mutualTls: the options must be an object'],
])('options that cannot be meant are refused: %j', (options, message) => {
  expect(() => mutualTls(options as never)).toThrow(message)
})

test('the whole of a network is every address of its family, where that is what is written', async () => {
  const { issuer, token } = await ground()
  const constraint = mutualTls({ header: 'client-cert', proxies: ['0.0.0.0/0'] })
  const app = await startApp({ issuer, resource: RESOURCE, senderConstraints: [constraint] })
  const headers = { authorization: `Bearer ${token}`, 'client-cert': asPem(mine) }
  const ask = async (remoteAddress: string): Promise<number> =>
    (await app.inject({ url: '/books', remoteAddress, headers })).statusCode
  expect([await ask('192.0.2.1'), await ask('2001:db8::1')]).toEqual([200, 401])
})
