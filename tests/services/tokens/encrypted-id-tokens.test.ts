/** ID tokens in another form: encrypted to the client (OpenID Connect Core §10.2), by a plugin where ours is left out, and read by `openid-client`. */
import { CompactEncrypt, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import * as client from 'openid-client'
import { expect, test } from 'vitest'
import { Type } from '../../../src/protocol/schema.ts'
import { createApp, getTokensFor } from '../../support/relying-party.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, SEED } from '../../support/sign-in.ts'

const ALGORITHM = 'id_token_encrypted_response_alg'
const { publicKey, privateKey } = await generateKeyPair('ECDH-ES+A256KW', { extractable: true })
const jwks = { keys: [{ ...(await exportJWK(publicKey)), use: 'enc', kid: 'theirs' }] }
let rendered: unknown[] = []

const server = await startServer(
  { WITHOUT: 'latchkey-encryption' },
  {
    seed: SEED,
    extend({ oauth }) {
      oauth.extendClientMetadata(Type.Object({ [ALGORITHM]: Type.Optional(Type.String()) }))
      oauth.add('representation', {
        name: 'id_token_jwe',
        of: 'id_token',
        applies: (call) => call.client?.metadata[ALGORITHM] !== undefined,
        async render({ text, type, body }, call) {
          rendered.push([type, body['aud']])
          const { keys } = call.client!.metadata['jwks'] as { keys: JWK[] }
          const alg = String(call.client!.metadata[ALGORITHM])
          const header = { alg, enc: 'A256GCM', cty: 'JWT', kid: keys[0]!.kid! }
          const jwe = new CompactEncrypt(new TextEncoder().encode(text)).setProtectedHeader(header)
          return { text: await jwe.encrypt(await importJWK(keys[0]!, alg)), type }
        },
      })
    },
  },
)

test('who is registered for it gets it encrypted, also at a refresh; it says the same and is signed inside', async () => {
  const app = await createApp(server, { [ALGORITHM]: 'ECDH-ES+A256KW', jwks })
  client.enableDecryptingResponses(app, ['A256GCM'], {
    key: privateKey,
    kid: 'theirs',
    alg: 'ECDH-ES+A256KW',
  })
  const tokens = await getTokensFor(app, { scope: 'openid email' })
  expect(tokens.id_token!.split('.')).toHaveLength(5)
  expect(tokens.claims()).toMatchObject({ email: ALICE.email })
  const renewed = await client.refreshTokenGrant(app, tokens.refresh_token!)
  expect(renewed.claims()!.sub).toBe(tokens.claims()!.sub)
  const { client_id: aud } = app.clientMetadata()
  expect(rendered).toEqual([['JWT', aud], ['JWT', aud]]) // prettier-ignore
})

test('everybody else gets it as before', async () => {
  rendered = []
  const tokens = await getTokensFor(await createApp(server))
  expect([tokens.id_token!.split('.').length, rendered]).toEqual([3, []])
})
