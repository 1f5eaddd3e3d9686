/** Clients that are known by their certificates (RFC 8705 §2): behind a proxy that is trusted, and by our own TLS. */
import { request as send, type RequestOptions } from 'node:https'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { startForeignApp } from '../../../support/foreign-app.ts'
import {
  asByteSequence,
  asPem,
  certify,
  createAuthority,
  jwkOf,
  withNames,
  type TestCertificate,
} from '../../../support/certificates.ts'
import { createCertificate } from '../../../support/deployed.ts'
import { startReceiver } from '../../../support/receiver.ts'
import {
  ASSERTION_TYPE,
  assertionOf,
  createAssertionKey,
  serviceWith,
} from '../../../support/client-assertions.ts'
import { createDpopKey, prove } from '../../../support/dpop.ts'
import { freePort } from '../../../support/settings.ts'
import { startServer, type TestServer } from '../../../support/server.ts'
import { readFile } from 'node:fs/promises'

const [authority, evil] = await Promise.all([createAuthority('Example CA'), createAuthority('Example CA')])
const names = withNames(
  'DNS:service.example',
  'DNS:*.wild.example',
  'URI:spiffe://example/service',
  'IP:2001:db8::1',
  'email:service@example.com',
)
const [service, other, forged, selfSigned, stranger, serverOnly] = await Promise.all([
  certify('/O=Example/CN=service', { issuer: authority, extensions: names }),
  certify('/O=Example/CN=other', { issuer: authority }),
  certify('/O=Example/CN=service', { issuer: evil, extensions: names }),
  certify('/CN=alone'),
  certify('/CN=alone'),
  certify('/O=Example/CN=service', { issuer: authority, extensions: ['extendedKeyUsage = serverAuth'] }),
])

const base = { grant_types: ['client_credentials'], scope: ['read'] }
const pki = (client_id: string, member: object) => ({
  ...base,
  client_id,
  token_endpoint_auth_method: 'tls_client_auth',
  ...member,
})
const byDn = pki('dn', { tls_client_auth_subject_dn: 'CN=service,O=Example' })
const alone = {
  ...base,
  client_id: 'alone',
  token_endpoint_auth_method: 'self_signed_tls_client_auth',
  jwks: { keys: [jwkOf(selfSigned)] },
}
const secret = { client_id: 'secret', client_secret: `lks_${'s'.repeat(43)}`, scope: ['read'] }
const receiver = await startReceiver((_request, response) => response.end(JSON.stringify(alone.jwks)))
const atAddress = {
  ...alone,
  client_id: 'published',
  jwks: undefined,
  jwks_uri: `http://127.0.0.1:${receiver.port}/`,
}
const seed = {
  clients: [
    byDn,
    pki('dns', { tls_client_auth_san_dns: 'SERVICE.example' }),
    pki('wild', { tls_client_auth_san_dns: 'a.wild.example' }),
    pki('uri', { tls_client_auth_san_uri: 'spiffe://example/service' }),
    pki('ip', { tls_client_auth_san_ip: '2001:db8:0:0::1' }),
    pki('mail', { tls_client_auth_san_email: 'service@EXAMPLE.com' }),
    alone,
    atAddress,
    secret,
  ],
}
const settings = {
  CLIENT_CERTIFICATE_HEADER: 'Client-Cert',
  CLIENT_CERTIFICATE_AUTHORITIES: authority.files.cert,
  TRUSTED_PROXIES: '127.0.0.1',
  OIDC_MTLS_ORIGIN: 'https://mtls.example.com',
  UNSAFE_OUTBOUND_ORIGINS: `http://127.0.0.1:${receiver.port}`,
}
const server = await startServer(settings, { seed })

async function ask(
  client_id: string,
  certificate: string | undefined,
  {
    at = server,
    ...more
  }: { at?: TestServer; headers?: Record<string, string>; client_secret?: string } = {},
): Promise<number> {
  const { headers = {}, ...form } = more
  const response = await at.server.inject({
    method: 'POST',
    url: '/token',
    remoteAddress: '127.0.0.1',
    payload: new URLSearchParams({ grant_type: 'client_credentials', client_id, ...form }).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(certificate === undefined ? {} : { 'client-cert': certificate }),
      // Each as somebody of their own: who fails too often is asked to wait.
      'x-forwarded-for': `198.51.100.${(asked += 1) % 250}`,
      ...headers,
    },
  })
  return response.statusCode
}
let asked = 0

describe('a certificate that an authority has issued', () => {
  test.each(['dn', 'dns', 'uri', 'ip', 'mail'])('by its name: %s', async (clientId) => {
    for (const write of [asPem, asByteSequence]) {
      expect(await ask(clientId, write(service))).toBe(200)
      expect(await ask(clientId, write(other))).toBe(401)
    }
    expect(await ask(clientId, undefined)).toBe(401)
  })

  test('a name that stands for many is no name of a client', async () => {
    expect(await ask('wild', asPem(service))).toBe(401)
  })

  test.each<[string, TestCertificate]>([
    ['by another authority of the same name', forged],
    ['by nobody else', selfSigned],
    ['for servers alone', serverOnly],
  ])('and not %s', async (_who, certificate) => {
    expect(await ask('dn', asPem(certificate))).toBe(401)
    expect(server.output()).toContain('no authority that is trusted has issued it')
  })

  describe('is good', () => {
    afterEach(() => vi.useRealTimers())
    test('until it ends', async () => {
      expect(await ask('dn', asPem(service))).toBe(200)
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3 * 86_400_000 })
      expect(await ask('dn', asPem(service))).not.toBe(200)
    })
  })

  test('proves no client with another method, and takes nothing from one that shows more', async () => {
    expect(await ask('secret', asPem(service))).toBe(401)
    expect(await ask('alone', asPem(service))).toBe(401)
    expect(await ask('nobody', asPem(service))).toBe(401)
    const { client_secret } = secret
    expect(await ask('secret', asPem(service), { client_secret })).toBe(200)
    expect(await ask('dn', asPem(service), { client_secret })).toBe(401)
  })
})

describe('one that the client has issued itself', () => {
  test('is good where it is registered, to the byte', async () => {
    expect(await ask('alone', asPem(selfSigned))).toBe(200)
    expect(await ask('alone', asByteSequence(selfSigned))).toBe(200)
    expect(await ask('alone', asPem(stranger))).toBe(401)
  })

  test('is read from jwks_uri', async () => {
    expect(await ask('published', asPem(selfSigned))).toBe(200)
    expect(await ask('published', asPem(stranger))).toBe(401)
  })
})

describe('T9: what a header says counts', () => {
  test('from a proxy that is trusted alone', async () => {
    for (const headers of [{}, { 'x-forwarded-for': '127.0.0.1' }, { forwarded: 'for=127.0.0.1' }]) {
      const response = await server.server.inject({
        method: 'POST',
        url: '/token',
        remoteAddress: '203.0.113.9',
        payload: 'grant_type=client_credentials&client_id=dn',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'client-cert': asPem(service),
          ...headers,
        },
      })
      expect(response.statusCode).toBe(401)
    }
  })

  test.each([
    ['nothing', ''],
    ['a name', 'CN=service,O=Example'],
    ['no base64', ':!!!:'],
    ['no certificate', ':AAAA:'],
    ['half an escape', '%'],
    ['a key', asPem({ ...service, cert: service.key })],
    ['two', asPem({ ...service, cert: `${service.cert}${other.cert}` })],
    ['two, one by the client', `${asByteSequence(service)}, ${asByteSequence(other)}`],
    ['one in a text', `x${asPem(service)}`],
    ['more than a header holds', `:${'A'.repeat(15_000)}:`],
  ])('where it is one certificate: %s', async (_what, header) => {
    expect(await ask('dn', header)).toBe(401)
  })

  test('under its name alone', async () => {
    expect(await ask('dn', undefined, { headers: { 'x-client-cert': asPem(service) } })).toBe(401)
  })
})

describe('a registration', () => {
  const { clients } = server.server.oauth
  test.each<[string, object, string]>([
    ['without a name', { tls_client_auth_subject_dn: undefined }, 'needs exactly one of'],
    ['with two', { tls_client_auth_san_dns: 'a.example' }, 'needs exactly one of'],
    ['with no distinguished name', { tls_client_auth_subject_dn: 'service' }, 'must be a distinguished name'],
    ['with a pattern', { tls_client_auth_san_dns: '*.example' }, 'must be a host name'],
    ['with a domain', { tls_client_auth_san_dns: '.example' }, 'must be a host name'],
    ['with no address', { tls_client_auth_san_ip: '10.0.0.0/8' }, 'must be an IP address'],
    ['with no URI', { tls_client_auth_san_uri: 'service' }, 'must be a URI'],
    ['with no e-mail address', { tls_client_auth_san_email: 'service' }, 'must be an e-mail address'],
  ])('%s is refused', async (_what, members, reason) => {
    await expect(clients.create({ ...byDn, client_id: 'refused', ...members })).rejects.toThrow(reason)
  })

  test('of a certificate of its own needs it', async () => {
    const { x5c: _x5c, ...key } = jwkOf(selfSigned)
    const keyless = { ...alone, client_id: 'refused', jwks: { keys: [key] } }
    await expect(clients.create(keyless)).rejects.toThrow('needs jwks_uri, or jwks with x5c')
    const without = { ...keyless, jwks: { keys: [{ ...key, x5c: [] }] } }
    await expect(clients.create(without)).rejects.toThrow('needs jwks_uri, or jwks with x5c')
    for (const x5c of [['AAAA'], [selfSigned.cert], jwkOf(stranger).x5c, [5], [null]])
      await expect(clients.create({ ...keyless, jwks: { keys: [{ ...key, x5c }] } })).rejects.toThrow(
        'has a key whose first x5c is not a certificate of it',
      )
  })
})

test('the metadata names both methods, and where TLS asks for certificates', async () => {
  const metadata = (await (await server.get('/.well-known/openid-configuration')).json()) as Record<
    string,
    unknown
  >
  expect(metadata['token_endpoint_auth_methods_supported']).toEqual(
    expect.arrayContaining(['tls_client_auth', 'self_signed_tls_client_auth']),
  )
  const aliases = metadata['mtls_endpoint_aliases'] as Record<string, string>
  expect(aliases).toMatchObject({
    token_endpoint: 'https://mtls.example.com/token',
    userinfo_endpoint: 'https://mtls.example.com/userinfo',
    revocation_endpoint: 'https://mtls.example.com/revoke',
  })
  expect(aliases).not.toHaveProperty('authorization_endpoint')
})

test('what a client signs may name the address where TLS asks for certificates, also where only MTLS_PORT says which', async () => {
  const { certificate, key } = await createCertificate('localhost')
  const [port, assertionKey, proofKey] = [await freePort(), await createAssertionKey(), await createDpopKey()]
  const own = { MTLS_PORT: port, MTLS_CERTIFICATE: certificate, MTLS_KEY: key }
  const signing = serviceWith('signing', assertionKey.jwk, { scope: ['read_books'] })
  const { get, post } = await startServer(own, { seed: { ...seed, clients: [signing] } })
  const metadata = (await (await get('/.well-known/openid-configuration')).json()) as {
    mtls_endpoint_aliases: { token_endpoint: string }
  }
  const url = metadata.mtls_endpoint_aliases.token_endpoint
  expect(new URL(url).port).toBe(String(port))
  const shown = {
    grant_type: 'client_credentials',
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: await assertionOf(assertionKey, 'signing', url),
  }
  const answer = await post('/token', shown, { dpop: await prove(proofKey, { method: 'POST', url }) })
  expect([answer.status, await answer.json()]).toMatchObject([200, { token_type: 'DPoP' }])
})

describe('advertised is what is served', () => {
  const methodsOf = async (given: object): Promise<string[]> => {
    const { get } = await startServer({ ...settings, OIDC_MTLS_ORIGIN: undefined, ...given })
    const metadata = (await (await get('/.well-known/openid-configuration')).json()) as {
      token_endpoint_auth_methods_supported: string[]
    }
    return metadata.token_endpoint_auth_methods_supported.filter((method) => method.includes('tls'))
  }

  test('without a header, neither; without authorities, the second', async () => {
    expect(await methodsOf({ CLIENT_CERTIFICATE_HEADER: undefined })).toEqual([])
    expect(await methodsOf({ WITHOUT: 'latchkey-mutual-tls' })).toEqual([])
    const authorities = { CLIENT_CERTIFICATE_AUTHORITIES: undefined }
    expect(await methodsOf(authorities)).toEqual(['self_signed_tls_client_auth'])
  })

  test('authorities that cannot be read end the start', async () => {
    for (const [file, why] of [
      ['/nowhere/ca.pem', 'cannot be read'],
      [authority.files.key, 'holds no certificates'],
    ] as const)
      await expect(methodsOf({ CLIENT_CERTIFICATE_AUTHORITIES: file })).rejects.toThrow(
        `CLIENT_CERTIFICATE_AUTHORITIES: ${file} ${why}`,
      )
  })
})

test('where the proxy has checked who issued it, what it hands on is good', async () => {
  const at = await startServer({ ...settings, CLIENT_CERTIFICATE_AUTHORITIES: 'proxy' }, { seed })
  expect(await ask('dn', asPem(service), { at })).toBe(200)
  expect(await ask('dn', asPem(other), { at })).toBe(401)
})

describe('by our own TLS', async () => {
  const { certificate, key } = await createCertificate('localhost')
  const [cert, privateKey] = await Promise.all([readFile(certificate), readFile(key)])
  const tls = { cert, key: privateKey, requestCert: true, rejectUnauthorized: false, ca: authority.cert }
  const own = await startForeignApp({ app: { https: tls } as object })
  for (const client of [byDn, alone]) await own.server.oauth.clients.create(client)

  async function askOverTls(client_id: string, shown: TestCertificate | undefined): Promise<number> {
    const { port } = new URL(own.url)
    const form = `grant_type=client_credentials&client_id=${client_id}`
    const options: RequestOptions = {
      host: '127.0.0.1',
      port,
      path: '/token',
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'client-cert': asPem(service) },
      rejectUnauthorized: false,
      agent: false,
      ...(shown === undefined ? {} : { cert: shown.cert, key: shown.key }),
    }
    return new Promise((resolve, reject) => {
      const sent = send(
        options,
        (response) => void text(response).then(() => resolve(response.statusCode!), reject),
      )
      sent.on('error', reject).end(form)
    })
  }

  test('a client is known by the certificate of the connection, and by no header', async () => {
    expect(await askOverTls('dn', service)).toBe(200)
    expect(await askOverTls('alone', selfSigned)).toBe(200)
    for (const [clientId, shown] of [
      ['dn', undefined],
      ['dn', other],
      ['dn', forged],
      ['alone', stranger],
      ['alone', service],
    ] as const)
      expect([clientId, await askOverTls(clientId, shown)]).toEqual([clientId, 401])
  })
})
