/** Time-based one-time passwords (RFC 6238): six digits, thirty seconds, SHA-1, as every authenticator app knows them. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const SECONDS = 30
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Base32 (RFC 4648 §6), as apps take it. */
export function newSecret(): string {
  return [...randomBytes(32)].map((byte) => ALPHABET[byte % 32]).join('')
}

/** The step of time whose code this is, one before and one after now included; null for none. */
export function stepOf(secret: string, code: string, now = Date.now()): number | null {
  const current = Math.floor(now / 1000 / SECONDS)
  const given = Buffer.from(code.padEnd(6).slice(0, 6))
  const steps = [current - 1, current, current + 1].filter((step) =>
    timingSafeEqual(given, codeAt(secret, step)),
  )
  return code.length === 6 ? (steps[0] ?? null) : null
}

function codeAt(secret: string, step: number): Buffer {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', decode(secret)).update(counter).digest()
  const offset = mac.at(-1)! & 15
  const number = mac.readUInt32BE(offset) & 0x7fffffff
  return Buffer.from(String(number % 1_000_000).padStart(6, '0'))
}

function decode(secret: string): Buffer {
  const bits = [...secret].map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}
