/**
 * ID tokens and userinfo for one app's eyes alone (OpenID Connect Core §2, §5.3.2; RFC 7516): signed as always, and then
 * encrypted to a key that the app has registered for it.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Client } from '../src/doors/client.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import {
  assertEncryptable,
  encryptionMembers,
  encryptionMetadata,
  encryptionOf,
  type Encryptable,
  type Encryption,
} from '../src/protocol/encryption.ts'
import { asksFor } from '../src/protocol/response-type.ts'

async function encryption(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { clientEncryption } = kernelOf(fastify)

  function serve(of: Encryptable, path: 'id_token' | '/userinfo'): void {
    const wanted = (client: Client | undefined): Encryption | undefined =>
      encryptionOf(client?.metadata ?? {}, of)
    oauth.extendClientMetadata(encryptionMembers(of), (metadata) => assertEncryptable(metadata, of))
    oauth.add('representation', {
      name: `encrypted_${of}`,
      of: path,
      applies: ({ client }) => wanted(client) !== undefined,
      async render({ text, type }, { client }) {
        // What is not signed is no JWT inside.
        const nested = type === 'application/json' ? {} : { cty: 'JWT' }
        const sealed = await clientEncryption.encryptTo(client!, text, { ...wanted(client)!, ...nested })
        return { text: sealed, type: type === 'JWT' ? type : 'application/jwt' }
      },
    })
    oauth.extend('metadata', async () => encryptionMetadata(of))
  }

  serve('id_token', 'id_token')
  if (fastify.hasPlugin('latchkey-userinfo')) serve('userinfo', '/userinfo')

  oauth.add('authorizationCheck', {
    name: 'id_token_encryption',
    check: () => {},
    /** Before a code is made, or a request spent, for an answer that nobody could be told. */
    async review({ client, responseType }) {
      const wanted = encryptionOf(client.metadata, 'id_token')
      if (wanted !== undefined && asksFor('id_token', responseType))
        await clientEncryption.assertReachable(client, wanted)
    },
  })
}

export default fp(encryption, {
  name: 'latchkey-encryption',
  dependencies: ['latchkey-oauth', 'latchkey-openid'],
})
