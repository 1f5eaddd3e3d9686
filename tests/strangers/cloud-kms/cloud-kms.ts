/** Signing keys at a key management service: `KEYS=example-kms://host:port/tag`, with its token in KMS_TOKEN. */
import type { FastifyInstance } from 'fastify'
import { createPublicKey } from 'node:crypto'
import { Type, type OpenKeyStore } from 'latchkey'

interface Named {
  readonly spec: string
  readonly algorithm: string
  /** Bytes of `r`, and of `s`. */
  readonly half?: number
}
const ALGORITHMS: Readonly<Record<string, Named>> = {
  ES256: { spec: 'ECC_P256', algorithm: 'ECDSA_SHA_256', half: 32 },
  ES384: { spec: 'ECC_P384', algorithm: 'ECDSA_SHA_384', half: 48 },
  RS256: { spec: 'RSA_2048', algorithm: 'RSA_PKCS1_SHA_256' },
  PS256: { spec: 'RSA_2048', algorithm: 'RSA_PSS_SHA_256' },
}

export default async function cloudKms({ oauth }: FastifyInstance): Promise<void> {
  const { KMS_TOKEN } = oauth.settings(
    Type.Object({
      KMS_TOKEN: Type.String({ secret: true, description: 'the token of the key management service' }),
    }),
  )
  oauth.register('keyStore', 'example-kms', {
    open: async (uri, { issuer }) => openKms(uri, issuer, KMS_TOKEN),
  })
}

export function openKms(uri: string, issuer: string, token: string): OpenKeyStore {
  const { host } = new URL(uri.replace(/^example-kms:/, 'http:'))
  const tag = encodeURIComponent(issuer)

  async function ask<T>(method: string, path: string, signal: AbortSignal, body?: object): Promise<T> {
    const response = await fetch(`http://${host}/${path}`, {
      method,
      signal,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as T & { message?: string }
    if (!response.ok) throw new Error(`the service answered with ${response.status} ${answer.message ?? ''}`)
    return answer
  }

  function named(algorithm: string): Named {
    const found = ALGORITHMS[algorithm]
    if (found === undefined) throw new Error(`the service has no ${algorithm}`)
    return found
  }

  return {
    async algorithms(signal) {
      await ask('GET', `keys/${tag}`, signal)
      return Object.keys(ALGORITHMS)
    },
    async generate(algorithm, signal) {
      const { spec } = named(algorithm)
      const { name, spki } = await ask<{ name: string; spki: string }>('POST', 'keys', signal, { spec, tag })
      const key = createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' })
      return { reference: name, publicJwk: key.export({ format: 'jwk' }) }
    },
    async sign(reference, algorithm, input, signal) {
      const { algorithm: by, half } = named(algorithm)
      const message = Buffer.from(input).toString('base64')
      const { signature } = await ask<{ signature: string }>('POST', `keys/${reference}/sign`, signal, {
        algorithm: by,
        message,
      })
      const bytes = Buffer.from(signature, 'base64')
      return half === undefined ? bytes : halvesOf(bytes, half)
    },
    async withdraw(reference, signal) {
      await ask('DELETE', `keys/${reference}`, signal).catch((error: unknown) => {
        if (!String(error).includes('404')) throw error
      })
    },
    async list(signal) {
      return (await ask<{ keys: string[] }>('GET', `keys/${tag}`, signal)).keys
    },
    close: async () => {},
  }
}

/** `r` and `s` of DER (RFC 3279 §2.2.3), each as long as JWS wants it (RFC 7518 §3.4). */
function halvesOf(der: Buffer, half: number): Buffer {
  const integerAt = (at: number): Buffer => der.subarray(at + 2, at + 2 + (der[at + 1] ?? 0))
  const first = (der[1] ?? 0) > 0x80 ? 3 : 2
  const r = integerAt(first)
  const s = integerAt(first + 2 + r.length)
  return Buffer.concat([r, s].map((one) => Buffer.concat([Buffer.alloc(half), one]).subarray(-half)))
}
