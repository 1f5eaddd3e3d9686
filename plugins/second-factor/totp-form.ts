/** The form by which an authenticator app is set up, on the account and on the way: its secret as text and as a picture. */
import type { Words } from '../../src/protocol/message.ts'
import type { FormTarget } from '../pages/models.ts'
import { type Picture, pictureOf } from '../pages/qr.ts'
import { addressOf } from './authenticator.ts'

export interface TotpForm extends FormTarget {
  /** For who types it. */
  secret: string
  picture: Picture
  error: Words | null
}

export async function totpForm(
  target: FormTarget,
  { secret, issuer, username }: { secret: string; issuer: string; username: string },
  error: Words | null,
): Promise<TotpForm> {
  const address = await addressOf(secret, issuer, username)
  const { action, csrfToken } = target
  return { action, csrfToken, secret, picture: await pictureOf(address), error }
}
