/** MTLS_PORT: the server's own TLS asks clients for certificates, by which they are proven and to which their tokens are bound; no proxy takes part. */
import { once } from 'node:events'
import { copyFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request as send } from 'node:https'
import { buffer, text } from 'node:stream/consumers'
import { connect as connectTo } from 'node:net'
import { connect, type ConnectionOptions, type SecureVersion } from 'node:tls'
import { decodeJwt } from 'jose'
import * as openid from 'openid-client'
import { describe, expect, test } from 'vitest'
import { readFile } from 'node:fs/promises'
import { appSettings } from '../../plugins/admin/clients/app-settings.ts'
import { listenForCertificates } from '../../src/serving/certificate-listener.ts'
import type { ClientInformation } from '../../src/protocol/client-metadata.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { spawnBeside } from '../support/beside.ts'
import { certify, createAuthority, jwkOf, type TestCertificate } from '../support/certificates.ts'
import { atEndOfFile, temporaryDirectory } from '../support/cleanup.ts'
import { createCertificate } from '../support/deployed.ts'
import { runSnippet } from '../support/snippets.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { bearer } from '../support/requests.ts'
import { until } from '../support/until.ts'

const authority = await createAuthority('Clients')
const [issued, alone, stranger] = [
  await certify('/O=Example/CN=issued', { issuer: authority }),
  await certify('/CN=alone'),
  await certify('/O=Example/CN=issued', { issuer: await createAuthority('Clients') }),
]
const tls = await createCertificate('localhost')
const ca = await readFile(tls.certificate)
const service = { grant_types: ['client_credentials'], scope: ['read_books'], tls_client_certificate_bound_access_tokens: true } // prettier-ignore
const clients = [
  { ...service, client_id: 'issued', token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_subject_dn: 'CN=issued,O=Example' },
  { ...service, client_id: 'alone', token_endpoint_auth_method: 'self_signed_tls_client_auth', jwks: { keys: [jwkOf(alone)] } },
] // prettier-ignore
const port = await freePort()
const origin = `https://localhost:${port}`
const own = { MTLS_PORT: port, MTLS_CERTIFICATE: tls.certificate, MTLS_KEY: tls.key }
const authorities = { CLIENT_CERTIFICATE_AUTHORITIES: authority.files.cert }
const server = await spawnServer(
  { ...own, ...authorities, OIDC_MTLS_ORIGIN: origin, WORKERS: 2 },
  { seed: { clients } },
)

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

/** With a connection of its own, which shows this certificate or none. */
async function ask(path: string, shown: TestCertificate | undefined, form?: Record<string, string>, headers = {}, at = port): Promise<Answer> {
  const body = form && new URLSearchParams(form).toString()
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const by = { ca, ...(shown && { cert: shown.cert, key: shown.key }), agent: false }
  const sent = send(`https://localhost:${at}${path}`, { method: form ? 'POST' : 'GET', headers: { ...(form && type), ...headers }, ...by })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode!, body: JSON.parse(await text(response)) as Record<string, unknown> }
} // prettier-ignore

const form = (client_id: string) => ({ grant_type: 'client_credentials', client_id })

test('a client is proven by the certificate that it shows, and its token is bound to it', async () => {
  for (const [client, mine, others] of [
    ['issued', issued, alone],
    ['alone', alone, issued],
  ] as const) {
    const told = await ask('/token', mine, form(client))
    expect([client, told.status]).toEqual([client, 200])
    const token = String(told.body['access_token'])
    expect(decodeJwt(token)).toMatchObject({ cnf: { 'x5t#S256': expect.any(String) as string } })
    expect(await ask('/token', others, form(client))).toMatchObject({ status: 401 })
    const at = async (shown?: TestCertificate) =>
      (await ask('/userinfo', shown, undefined, bearer(token))).body
    expect(await at(mine)).toMatchObject({ error: 'insufficient_scope' })
    expect(await at(others)).toMatchObject({ error: 'invalid_token' })
    expect(await at()).toMatchObject({ error: 'invalid_token' })
  }
})

test('one of another authority of the same name, none at all, and the port without TLS prove nobody', async () => {
  const refused = { status: 401, body: { error: 'invalid_client' } }
  expect(await ask('/token', stranger, form('issued'))).toMatchObject(refused)
  expect(await ask('/token', undefined, form('issued'))).toMatchObject(refused)
  expect((await server.post('/token', form('issued'))).status).toBe(401)
})

test('a header says nothing there: the connection has been asked itself', async () => {
  const [mine, header] = [await freePort(), 'client-cert']
  const settings = { ...own, ...authorities, MTLS_PORT: mine, CLIENT_CERTIFICATE_HEADER: header, TRUSTED_PROXIES: '127.0.0.1' } // prettier-ignore
  const { server: here, post } = await startServer(settings, { seed: { clients } })
  const listener = await listenForCertificates(kernelOf(here).config, here)
  atEndOfFile(async () => listener?.close())
  const forged = { [header]: encodeURIComponent(issued.cert) }
  expect((await post('/token', form('issued'), forged)).status).toBe(200)
  expect((await ask('/token', undefined, form('issued'), forged, mine)).status).toBe(401)
  expect((await ask('/token', issued, form('issued'), {}, mine)).status).toBe(200)
})

test('openid-client finds it by the metadata', async () => {
  const fetchBy: openid.CustomFetch = async (url, { method, headers, body }) =>
    new Promise((resolve, reject) => {
      const by = { ca, cert: issued.cert, key: issued.key, agent: false }
      const sent = send(url, { method, headers, ...by }, (response) => {
        const told = { status: response.statusCode!, headers: response.headers as Record<string, string> }
        void buffer(response).then((bytes) => resolve(new Response(new Uint8Array(bytes), told)), reject)
      })
      sent.on('error', reject)
      sent.end(body === undefined || body === null ? undefined : String(body as URLSearchParams))
    })
  const config = await openid.discovery(
    new URL(server.url),
    'issued',
    { use_mtls_endpoint_aliases: true },
    openid.TlsClientAuth(),
    { execute: [openid.allowInsecureRequests] },
  )
  expect(config.serverMetadata()).toMatchObject({
    mtls_endpoint_aliases: { token_endpoint: `${origin}/token` },
    token_endpoint_auth_methods_supported: expect.arrayContaining([
      'tls_client_auth',
      'self_signed_tls_client_auth',
    ]) as string[],
  })
  config[openid.customFetch] = fetchBy
  expect(await openid.clientCredentialsGrant(config)).toMatchObject({ scope: 'read_books' })
})

test('the code that the administration gives goes by it', async () => {
  const client = clients[0] as ClientInformation
  const settings = appSettings(server.url, client)
  const files = { 'client.pem': issued.cert, 'client.key': issued.key }
  const printed = await runSnippet(settings, files, { NODE_EXTRA_CA_CERTS: tls.certificate })
  expect(decodeJwt(printed)).toMatchObject({ client_id: 'issued' })
})

test('a stop lets a request finish that came by TLS, and no other one begin', async () => {
  const [mine, body] = [await freePort(), new URLSearchParams(form('issued')).toString()]
  const ending = await spawnBeside({ ...server.settings, WORKERS: 1, MTLS_PORT: mine }, server.database)
  // As a balancer that looks whether somebody listens.
  const silent = connectTo({ host: 'localhost', port: mine })
  silent.on('error', () => {})
  await once(silent, 'connect')
  const socket = connect({ host: 'localhost', port: mine, ca, cert: issued.cert, key: issued.key })
  await once(socket, 'secureConnect')
  const head = ['POST /token HTTP/1.1', 'host: localhost', 'content-type: application/x-www-form-urlencoded', `content-length: ${body.length}`] // prettier-ignore
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  const stopped = ending.stop()
  await expect.poll(ending.output).toContain('"stopping"')
  const refusedBy = async () => {
    const late = connect({ host: 'localhost', port: mine, ca })
    late.on('error', () => {})
    return once(late, 'secureConnect').then(
      () => void late.destroy(),
      () => 'refused',
    )
  }
  await expect.poll(refusedBy).toBe('refused')
  socket.write(body)
  expect(await text(socket)).toMatch(/^HTTP\/1.1 200 [\s\S]*"access_token"/)
  expect(await stopped).toBe(0)
})

/** A listener whose certificate `put` replaces. */
async function renewed(first: TestCertificate) {
  const folder = await temporaryDirectory()
  const [certificate, key] = [`${folder}/tls.pem`, `${folder}/tls.key`]
  const put = async ({ files }: TestCertificate) =>
    Promise.all([copyFile(files.cert, certificate), copyFile(files.key, key)])
  await put(first)
  const renewing = await freePort()
  const settings = { MTLS_PORT: renewing, MTLS_CERTIFICATE: certificate, MTLS_KEY: key }
  const { server: here } = await startServer(settings)
  const listener = await listenForCertificates(kernelOf(here).config, here, 20)
  atEndOfFile(async () => listener?.close())
  const connection = async (options: ConnectionOptions = {}) => {
    const socket = connect({ host: 'localhost', port: renewing, rejectUnauthorized: false, ...options })
    await once(socket, 'secureConnect')
    const met = { name: socket.getPeerCertificate().subject.CN, suite: socket.getCipher().name }
    socket.destroy()
    return met
  }
  const shown = async () => (await connection()).name
  return { put, key, connection, shown }
}

test('a certificate that is renewed is shown from then on; one that is no good is not', async () => {
  const second = await certify('/CN=second')
  const { put, key, shown } = await renewed(await certify('/CN=first'))
  expect(await shown()).toBe('first')
  await copyFile(tls.key, key)
  await until(async () => {
    if ((await shown()) !== 'first') throw new Error('what does not belong together is shown')
  })
  await put(second)
  await expect.poll(shown).toBe('second')
})

test('of TLS 1.2, suites that keep a secret afterwards and seal what they encrypt are spoken alone, also after a renewal', async () => {
  const [first, second] = [await certify('/CN=first', { key: 'rsa' }), await certify('/CN=second', { key: 'rsa' })]
  const { put, connection, shown } = await renewed(first)
  const spoken = async (ciphers: string, maxVersion: SecureVersion) =>
    connection({ ciphers, maxVersion }).then(({ suite }) => suite, (error: Error & { code?: string }) => error.code)
  const all = async () => {
    for (const suite of ['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES256-GCM-SHA384']) expect(await spoken(suite, 'TLSv1.2')).toBe(suite)
    for (const suite of ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384']) expect(await spoken(suite, 'TLSv1.3')).toBe(suite)
    for (const suite of ['AES128-GCM-SHA256', 'AES256-SHA256', 'ECDHE-RSA-AES128-SHA256', 'ECDHE-RSA-AES256-SHA', 'DHE-RSA-AES128-GCM-SHA256'])
      expect([suite, await spoken(suite, 'TLSv1.2')]).toEqual([suite, 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE'])
  }
  await all()
  await put(second)
  await expect.poll(shown).toBe('second')
  await all()
}) // prettier-ignore

describe('a start is refused', () => {
  test('by several workers, where the port of the server is taken', async () => {
    const PORT = new URL(server.url).port
    const { status, stderr } = await runCommand(['serve'], { ...server.settings, PORT, MTLS_PORT: await freePort() })
    expect(stderr).toContain('in use')
    expect(status).toBe(1)
  }) // prettier-ignore

  test.each([
    ['without a key', { MTLS_KEY: undefined }, 'MTLS_PORT needs MTLS_KEY: a file in PEM.'],
    ['without a port', { MTLS_PORT: undefined }, 'MTLS_CERTIFICATE needs MTLS_PORT: without it nothing asks for certificates.'],
    ['at the port of metrics', { MTLS_PORT: 3111, METRICS_PORT: 3111 }, 'MTLS_PORT must be another than METRICS_PORT.'],
    ['at the port of the server', { MTLS_PORT: 3111, PORT: 3111 }, 'MTLS_PORT must be another than PORT.'],
  ])('%s', async (_how, more, told) => {
    const { status, stderr } = await runCommand(['serve'], { ...own, ...more })
    expect([status, stderr.trim()]).toEqual([1, told])
  }) // prettier-ignore

  test.each([
    ['where the file is not there', { MTLS_KEY: '/nowhere/tls.key' }, /MTLS_KEY: \/nowhere\/tls.key cannot be read\./],
    ['where they do not belong together', { MTLS_KEY: issued.files.key }, /MTLS_CERTIFICATE and MTLS_KEY are not a certificate and its key, in PEM\./],
    ['at a port that is taken', { MTLS_PORT: port }, /MTLS_PORT \d+ on 127.0.0.1 is in use\./],
  ])('%s', async (_how, more, told) => {
    const settings = { ...server.settings, WORKERS: 1, PORT: await freePort(), MTLS_PORT: await freePort(), ...more }
    const { status, stderr } = await runCommand(['serve'], settings)
    expect(stderr).toMatch(told)
    expect(status).toBe(1)
    if (!('MTLS_KEY' in more)) return
    const { stdout } = await runCommand(['doctor'], settings)
    expect(stdout.split('\n').find((line) => line.startsWith('fail  settings: '))).toMatch(told)
  }) // prettier-ignore
})
