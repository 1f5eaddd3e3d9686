/**
 * DPoP (RFC 9449) for Latchkey: whoever asks for a token proves that they hold a key, and the token is then good for who holds
 * it. The plugin is for a server; `createDpop` also makes the constraint of an API that `@latchkey/require-scope` guards.
 */
import { createHash, createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify, type JWTVerifyResult } from 'jose'
import { BearerError, Type } from 'latchkey'
import type { ConstrainedReply, ConstrainedRequest, SenderConstraint } from 'latchkey'

const ALGORITHMS = ['ES256', 'ES384', 'ES512', 'Ed25519', 'EdDSA', 'PS256', 'PS384', 'PS512', 'RS256']
/** Seconds that a proof is good, and by which the clock of who made it may be ahead. */
const LIFETIME = 60
const SKEW = 10
/** Seconds in which one proof could be presented again. */
export const REMEMBERED = LIFETIME + 2 * SKEW
/** Milliseconds after which a nonce is followed by another; it is good for as long again. */
const NONCE_TURN = 60_000

export interface DpopOptions {
  /** Where requests are sent: scheme, host and port, as clients see them. */
  readonly origin: string
  /** Whether a proof, by a name of its own, is presented for the first time in `REMEMBERED`. */
  readonly spend: (proof: string) => Promise<boolean>
  /** A secret of everybody who checks: then every proof must have a nonce that was made with it. */
  readonly nonces?: (() => Promise<KeyObject>) | undefined
}

export function createDpop({ origin, spend, nonces }: DpopOptions): SenderConstraint {
  /** The thumbprint of the key that the request proves to be its sender's (§4.3). */
  async function prove(
    request: ConstrainedRequest,
    proof: unknown,
    reply: ConstrainedReply,
    token?: string,
  ): Promise<string> {
    if (typeof proof !== 'string') throw refused('there is no proof')
    const { payload, protectedHeader } = await read(proof)
    const { jti, htm, htu, ath, nonce } = payload
    if (htm !== request.method) throw refused('htm is another method')
    if (!isSameAddress(htu, URL.parse(request.originalUrl, origin))) throw refused('htu is another address')
    if (token !== undefined && ath !== hashOf(token)) throw refused('ath is of another token')
    if (typeof jti !== 'string' || jti.length > 200) throw refused('jti is missing or too long')
    if (nonces !== undefined) await checkNonce(await nonces(), nonce, reply)
    const thumbprint = await calculateJwkThumbprint(protectedHeader.jwk ?? {})
    if (!(await spend(`${thumbprint} ${jti}`))) throw refused('the proof was used before')
    return thumbprint
  }

  return {
    scheme: 'DPoP',
    confirmation: 'jkt',
    challenge: { algs: ALGORITHMS.join(' ') },
    metadata: { dpop_signing_alg_values_supported: ALGORITHMS },
    // Of authorization requests (§10): the server keeps it, and compares.
    requestParameter: 'dpop_jkt',
    async bind({ request, reply }) {
      const proof = request.headers['dpop']
      return proof === undefined ? undefined : prove(request, proof, reply)
    },
    async verify(request, { value, confirmation }, reply) {
      const thumbprint = await prove(request, request.headers['dpop'], reply, value)
      if (thumbprint !== confirmation)
        throw new BearerError('invalid_token', 'the token is bound to another key')
    },
  }
}

export default async function dpop({ oauth }: FastifyInstance): Promise<void> {
  const secret = (): Promise<KeyObject> => oauth.secret('dpop nonces')
  oauth.add('parameter', { name: 'dpop_jkt', schema: Type.String({ pattern: '^[\\w-]{43}$' }), kept: true })
  oauth.add(
    'senderConstraint',
    createDpop({
      origin: new URL(oauth.issuer).origin,
      spend: async (proof) => oauth.once('dpop', proof, new Date(Date.now() + REMEMBERED * 1000)),
      nonces: process.env['DPOP_NONCES'] === 'required' ? secret : undefined,
    }),
  )
}

/** Signed by the key that it names, of the right type, and of this minute. */
async function read(proof: string): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(proof, EmbeddedJWK, {
      typ: 'dpop+jwt',
      algorithms: ALGORITHMS,
      maxTokenAge: LIFETIME,
      clockTolerance: SKEW,
    })
  } catch (cause) {
    throw refused('the proof is malformed, forged or old', cause)
  }
}

/** §4.3: without query and fragment. `sentTo` is null for a request line that is no address. */
function isSameAddress(htu: unknown, sentTo: URL | null): boolean {
  const named = typeof htu === 'string' ? URL.parse(htu) : null
  return named !== null && named.origin === sentTo?.origin && named.pathname === sentTo.pathname
}

/** §8: tells the next one with each answer. */
async function checkNonce(secret: KeyObject, nonce: unknown, reply: ConstrainedReply): Promise<void> {
  const turn = Math.floor(Date.now() / NONCE_TURN)
  const [current, former] = [nonceOf(secret, turn), nonceOf(secret, turn - 1)]
  if (!isSame(nonce, current) && !isSame(nonce, former))
    throw new BearerError('use_dpop_nonce', 'the proof needs a nonce of this server', {
      headers: { 'dpop-nonce': current },
    })
  reply.header('dpop-nonce', current)
}

function nonceOf(secret: KeyObject, turn: number): string {
  return createHmac('sha256', secret).update(String(turn)).digest('base64url')
}

function isSame(one: unknown, other: string): boolean {
  const [a, b] = [Buffer.from(String(one)), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}

function refused(description: string, cause?: unknown): BearerError {
  return new BearerError('invalid_dpop_proof', description, { cause })
}
