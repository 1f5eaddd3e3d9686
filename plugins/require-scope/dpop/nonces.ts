// Nonces that a server gives to those who make proofs (RFC 9449 §8, §9), so that nobody makes proofs ahead. None is stored: each
// follows from a secret and the time, the same in every process that has the secret.
import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'

export interface Nonces {
  /** What proofs need now. */
  current(): string
  /** Of what a proof has: good and to be replaced, good, or no nonce of ours that counts now. */
  judge(nonce: unknown): 'aging' | 'good' | 'bad'
}

/** Milliseconds after which a nonce is followed by another; it is good for as long again. */
const TURN = 120_000

/**
 * @param secret 256 bits, of everybody who checks
 * @param now milliseconds since 1970
 */
export function createNonces(secret: KeyObject | string | Uint8Array, now: () => number): Nonces {
  let made: { turn: number; former: Buffer; current: Buffer; next: Buffer } | undefined

  const nonceOf = (turn: number): Buffer =>
    Buffer.from(createHmac('sha256', secret).update(`dpop nonce ${turn}`).digest('base64url'))

  function ofNow(): NonNullable<typeof made> {
    const turn = Math.floor(now() / TURN)
    if (made?.turn !== turn)
      made = { turn, former: nonceOf(turn - 1), current: nonceOf(turn), next: nonceOf(turn + 1) }
    return made
  }

  return {
    current: () => ofNow().current.toString(),
    judge(nonce) {
      if (typeof nonce !== 'string') return 'bad'
      const given = Buffer.from(nonce)
      const { former, current, next } = ofNow()
      // The next one may come from a process whose clock is ahead.
      if (isSame(given, current) || isSame(given, next)) return 'good'
      return isSame(given, former) ? 'aging' : 'bad'
    },
  }
}

function isSame(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
