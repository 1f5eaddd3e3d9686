/** How people hear that a client asks for them while they are not at it (CIBA Core 1.0 §1.2): by mail, on a telephone, on their account. */
import type { Client } from './client.ts'
import type { User } from './user.ts'

/** What somebody is asked, for whoever tells them. */
export interface BackchannelCall {
  readonly user: User
  readonly client: Client
  /** The page where they decide, as an absolute URL: it asks them to sign in, and is of no use to anybody else. */
  readonly uri: string
  /** What the client shows them too, so that they know which request it is. */
  readonly bindingMessage?: string
  /** Where the client asked from. */
  readonly address: string
  /** Milliseconds since the epoch. */
  readonly askedAt: number
  /** Milliseconds since the epoch: nobody can decide any more. */
  readonly expiresAt: number
}

/** One kind of device. */
export interface AuthenticationDevice {
  readonly name: string
  /**
   * Tells them; false for who has no such device. The client waits for it, so what takes time is for `oauth.enqueue`. What it throws is
   * logged, and the others are told all the same.
   */
  reach(call: BackchannelCall): Promise<boolean>
}
