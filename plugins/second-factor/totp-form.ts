/** The form by which an authenticator app is set up, on the account and on the way: its secret as text and as a picture. */
import type { Words } from '../../src/protocol/message.ts'
import type { FormTarget } from '../pages/models.ts'
import { addressOf } from './authenticator.ts'

export interface TotpForm extends FormTarget {
  /** For who types it. */
  secret: string
  picture: Picture
  error: Words | null
}

/** A QR code: dark squares as one path, in a square of `size`. */
export interface Picture {
  path: string
  size: number
}

/** Squares around it (ISO/IEC 18004 §6.3.8). */
const QUIET = 4

export async function totpForm(
  target: FormTarget,
  { secret, issuer, username }: { secret: string; issuer: string; username: string },
  error: Words | null,
): Promise<TotpForm> {
  const address = await addressOf(secret, issuer, username)
  const { action, csrfToken } = target
  return { action, csrfToken, secret, picture: await pictureOf(address), error }
}

async function pictureOf(text: string): Promise<Picture> {
  const { default: encode } = await import('qr')
  const rows = encode(text, 'raw', { ecc: 'medium', border: QUIET })
  const squares = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return { path: squares.join(''), size: rows.length }
}
