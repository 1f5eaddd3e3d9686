/**
 * Workloads that prove who they are by their platform's token: of Kubernetes, GitHub Actions and SPIFFE, and of nobody else.
 * @needs latchkey-federated-jwt
 */
import { expect, test } from 'vitest'
import { createAssertionKey, inSeconds } from '../../support/client-assertions.ts'
import { answer } from '../../support/device.ts'
import { startServer } from '../../support/server.ts'
import { said } from '../../support/trusted-issuer.ts'

const [key, stranger] = [await createAssertionKey('one'), await createAssertionKey('one')]
const [CLUSTER, GITHUB, TRUST] = ['https://kubernetes.default.svc', 'https://token.actions.githubusercontent.com', 'spiffe://prod.example'] // prettier-ignore
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const workload = (client_id: string, federated_identity: object) => ({
  client_id,
  token_endpoint_auth_method: 'federated_jwt',
  grant_types: ['client_credentials'],
  scope: ['read'],
  federated_identity,
})
const issuer = (name: string, more: object = {}) => ({
  issuer: name,
  jwks: { keys: [key.jwk] },
  reusable: true,
  ...more,
})
const server = await startServer({}, {
  seed: {
    clients: [
      workload('backup', { issuer: CLUSTER, subject: 'system:serviceaccount:ops:backup' }),
      workload('deploy', { issuer: GITHUB, claims: { repository: 'org/app', ref: ['refs/heads/main', 'refs/heads/next'] } }),
      workload('payments', { issuer: TRUST, subject: 'spiffe://prod.example/payments' }),
      { client_id: 'keyed', token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key.jwk] }, grant_types: ['client_credentials'], scope: ['read'] },
    ],
    trusted_issuers: [issuer(CLUSTER), issuer(GITHUB, { reusable: false }), issuer(TRUST)],
  },
}) // prettier-ignore

async function enter(
  client_id: string,
  iss: string | undefined,
  claims: object,
  { by = key, type = TYPE } = {},
) {
  const client_assertion = await said(by, iss ?? '', server.url, { iss, ...claims })
  const form = { grant_type: 'client_credentials', client_id, client_assertion, client_assertion_type: type }
  const first = await answer(server.post('/token', form))
  return { ...first, again: async () => answer(server.post('/token', form)) }
}
const backup = { sub: 'system:serviceaccount:ops:backup' }
const deploy = { sub: 'repo:org/app:ref:refs/heads/main', repository: 'org/app', ref: 'refs/heads/main' }
const payments = { sub: 'spiffe://prod.example/payments', jti: undefined, iat: undefined }

test('a service account, as often as it comes', async () => {
  const got = await enter('backup', CLUSTER, backup)
  expect(got).toMatchObject({ status: 200, scope: 'read' })
  expect(await got.again()).toMatchObject({ status: 200 })
})

test('a job by what its claims say, once', async () => {
  const got = await enter('deploy', GITHUB, deploy)
  expect(got).toMatchObject({ status: 200 })
  expect(await got.again()).toMatchObject({ status: 401, error: 'invalid_client' })
})

test('a JWT-SVID, which names no issuer', async () => {
  expect(await enter('payments', undefined, payments)).toMatchObject({ status: 200 })
  const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe'
  expect(await enter('payments', undefined, payments, { type })).toMatchObject({ status: 200 })
})

test.each([
  ['another service account', 'backup', CLUSTER, { sub: 'system:serviceaccount:ops:other' }],
  ['a service account for another client', 'deploy', CLUSTER, backup],
  ['a job of another repository', 'deploy', GITHUB, { ...deploy, repository: 'evil/app' }],
  ['a job of a branch', 'deploy', GITHUB, { ...deploy, ref: 'refs/heads/mine' }],
  ['a job without the claim', 'deploy', GITHUB, { ...deploy, ref: undefined }],
  ['an expired token', 'backup', CLUSTER, { ...backup, exp: inSeconds(-60) }],
  ['a token for somebody else', 'backup', CLUSTER, { ...backup, aud: 'https://other.example' }],
  ['a token that is bound to a key', 'backup', CLUSTER, { ...backup, cnf: { jkt: 'x' } }],
  ['an issuer that is not trusted', 'backup', 'https://evil.example', backup],
  [
    'a workload of another trust domain',
    'payments',
    undefined,
    { ...payments, sub: 'spiffe://evil.example/payments' },
  ],
  ['a client that has a key', 'keyed', CLUSTER, { sub: 'keyed' }],
  ['a client that there is not', 'gone', CLUSTER, backup],
])('%s is refused', async (_what, client_id, iss, claims) => {
  expect(await enter(client_id, iss, claims)).toMatchObject({ status: 401, error: 'invalid_client' })
})

test('of an issuer that is not trusted the answer says so', async () => {
  expect(await enter('backup', 'https://evil.example', backup)).toMatchObject({
    error_description: 'the client_assertion is not good: its iss is not trusted here',
  })
})

test('a token that somebody else signed is refused, and a client’s own assertion is taken as before', async () => {
  expect(await enter('backup', CLUSTER, backup, { by: stranger })).toMatchObject({ status: 401 })
  expect(await enter('keyed', 'keyed', { sub: 'keyed' })).toMatchObject({ status: 200 })
  expect(await enter('backup', 'backup', { sub: 'backup' })).toMatchObject({ status: 401 })
})

test('which workload a client is has to be said', async () => {
  const { clients } = server.server.oauth
  const create = async (more: object) => clients.create({ token_endpoint_auth_method: 'federated_jwt', scope: ['read'], ...more }) // prettier-ignore
  await expect(create({})).rejects.toThrow('needs federated_identity')
  await expect(create({ federated_identity: { issuer: CLUSTER } })).rejects.toThrow('needs a subject, or claims')
  await expect(create({ federated_identity: { issuer: CLUSTER, claims: { a: [] } } })).rejects.toThrow('federated_identity')
}) // prettier-ignore
