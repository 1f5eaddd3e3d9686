/**
 * Tokens that are bound to the certificate of a connection, and clients that are known by it (RFC 8705): a plugin by the doors
 * for both, in an app that speaks TLS itself, or behind a proxy that hands the certificate on (RFC 9440).
 */
import { createHash, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { request as send, type RequestOptions } from 'node:https'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { TLSSocket } from 'node:tls'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { BearerError } from '../../../plugins/require-scope/bearer-error.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { createCertificate } from '../../support/deployed.ts'
import { startForeignApp } from '../../support/foreign-app.ts'

async function certify(name: string): Promise<{ key: Buffer; cert: Buffer }> {
  const { key, certificate } = await createCertificate(name)
  return { key: await readFile(key), cert: await readFile(certificate) }
}
const [tls, service, other] = await Promise.all(['localhost', 'service', 'other'].map(certify))

interface Connected {
  readonly raw: { readonly socket: Socket }
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** RFC 9440 §2.2: a byte sequence (RFC 8941 §3.3.5). */
function certificateIn(header: unknown): X509Certificate | undefined {
  const [, der] = /^:([A-Za-z0-9+/]+=*):$/.exec(String(header)) ?? []
  try {
    return der === undefined ? undefined : new X509Certificate(Buffer.from(der, 'base64'))
  } catch {
    return undefined
  }
}

async function mutualTls({ oauth }: FastifyInstance): Promise<void> {
  function certificateOf(request: Connected): X509Certificate | undefined {
    if (oauth.isFromTrustedProxy(request)) return certificateIn(request.headers['client-cert'])
    const { socket } = request.raw
    return socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined
  }

  function thumbprintOf(request: Connected): string | undefined {
    const certificate = certificateOf(request)
    return certificate && createHash('sha256').update(certificate.raw).digest('base64url')
  }

  oauth.extendClientMetadata(Type.Object({ tls_client_auth_subject_dn: Type.Optional(Type.String()) }))
  oauth.register('clientAuthentication', 'tls_client_auth', {
    credentials: [],
    implied: true,
    recognizes: (request, { client_id: id }) =>
      typeof id === 'string' && certificateOf(request) !== undefined ? [id] : null,
    authenticate: async (request, _wire, client) =>
      client !== null && client.metadata['tls_client_auth_subject_dn'] === certificateOf(request)?.subject,
  })
  oauth.add('senderConstraint', {
    scheme: 'Bearer',
    confirmation: 'x5t#S256',
    metadata: { tls_client_certificate_bound_access_tokens: true },
    bind: async ({ request }) => thumbprintOf(request),
    async verify(request, { confirmation }) {
      if (thumbprintOf(request) !== confirmation)
        throw new BearerError('invalid_token', 'the token is bound to another certificate')
    },
  })
}

/** Where the proxy connects from; all others come from 127.0.0.1. */
const PROXY = '127.0.0.2'
const server = await startForeignApp({
  app: {
    https: { ...tls!, requestCert: true, rejectUnauthorized: false },
    trustProxy: [PROXY],
  } as FastifyServerOptions,
  plugins: [mutualTls],
  without: ['latchkey-mutual-tls'],
  after: (app) =>
    app.get('/guarded', { config: { scope: 'read_books' } }, async ({ token }) => token.clientId),
})
await server.server.oauth.clients.create({
  client_id: 'service',
  token_endpoint_auth_method: 'tls_client_auth',
  tls_client_auth_subject_dn: 'CN=service',
  grant_types: ['client_credentials'],
  scope: ['read_books'],
})

async function ask(
  path: string,
  options: RequestOptions,
  form?: string,
): Promise<{ status: number; body: string }> {
  const { port } = new URL(server.url)
  const sent = send({ host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false, ...options })
  const answered = new Promise<{ status: number; body: string }>((resolve, reject) => {
    sent.on('error', reject)
    sent.on(
      'response',
      (response) =>
        void text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject),
    )
  })
  sent.end(form)
  return answered
}

async function getToken(
  connection: RequestOptions,
  more: Readonly<Record<string, string>> = {},
): Promise<{ status: number; body: string }> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', ...more }
  return ask(
    '/token',
    { method: 'POST', headers, ...connection },
    'grant_type=client_credentials&client_id=service',
  )
}

test('a client is known by its certificate, and its token is good on connections of that one alone', async () => {
  expect((await getToken(other!)).status).toBe(401)
  expect((await getToken({})).status).toBe(401)
  const { status, body } = await getToken(service!)
  expect(status).toBe(200)
  const { access_token: token } = JSON.parse(body) as { access_token: string }
  expect(decodeJwt(token)['cnf']).toEqual({ 'x5t#S256': expect.stringMatching(/^[\w-]{43}$/) as unknown })

  const headers = { authorization: `Bearer ${token}` }
  const statuses = []
  for (const certificate of [service!, other!, {}])
    statuses.push((await ask('/guarded', { headers, ...certificate })).status)
  expect(statuses).toEqual([200, 401, 401])
})

/** As a proxy hands it on. */
const handedOn = (pem: Buffer): string => `:${new X509Certificate(pem).raw.toString('base64')}:`

test('behind a proxy that is trusted it is the certificate of its header, and from anybody else that header says nothing', async () => {
  const proxy = { localAddress: PROXY }
  const header = { 'client-cert': handedOn(service!.cert) }
  const { status, body } = await getToken(proxy, header)
  expect(status).toBe(200)
  const { access_token: token } = JSON.parse(body) as { access_token: string }
  const { access_token: direct } = JSON.parse((await getToken(service!)).body) as { access_token: string }
  expect(decodeJwt(token)['cnf']).toEqual(decodeJwt(direct)['cnf'])
  for (const wrong of [handedOn(other!.cert), ':AAAA:', 'CN=service', ''])
    expect((await getToken(proxy, { 'client-cert': wrong })).status).toBe(401)
  // The proxy's own certificate is not its client's.
  expect((await getToken({ ...proxy, ...service! })).status).toBe(401)

  const forged = [
    {},
    { 'x-forwarded-for': PROXY },
    { 'x-forwarded-for': `${PROXY}, ${PROXY}` },
    { 'x-forwarded-for': '192.0.2.1, 192.0.2.2', 'x-real-ip': PROXY, forwarded: `for=${PROXY}` },
    { 'x-forwarded-host': 'localhost', 'x-forwarded-proto': 'https', via: `1.1 ${PROXY}` },
  ]
  const bearer = { authorization: `Bearer ${token}` }
  const guarded = async (options: RequestOptions, more: object): Promise<number> =>
    (await ask('/guarded', { ...options, headers: { ...bearer, ...more } })).status
  for (const more of forged) {
    expect((await getToken({}, { ...header, ...more })).status).toBe(401)
    expect(await guarded({}, { ...header, ...more })).toBe(401)
    expect(await guarded(other!, { ...header, ...more })).toBe(401)
  }
  // What came to the proxy by others makes it no other connection.
  expect(await guarded(proxy, { ...header, 'x-forwarded-for': '198.51.100.7, 10.0.0.1' })).toBe(200)
  expect(await guarded(service!, {})).toBe(200)
})
