/** Clients that are not registered here: what they are is found elsewhere, as in a document at their client_id. */
import type { StoredClient } from '../protocol/stored-client.ts'
import type { OAuthError } from '../protocol/errors.ts'
import type { Unregistered } from './client.ts'

/** A client as a source found it. */
export interface SourcedClient {
  /** As `oauth.parseOpenMetadata` has judged it. */
  readonly client: StoredClient
  readonly unregistered: Unregistered
  /** Milliseconds since the epoch: what it was given before is nobody's any more. */
  readonly since: number
  /** Milliseconds since the epoch: until then it is taken from memory, for a minute at most. */
  readonly goodUntil: number
  /** Why nothing new begins with it: it could not be read lately. What it has goes on. */
  readonly away?: OAuthError | undefined
}

/** Its key is the `registrar` of its clients. One that is registered here goes before one of a source. */
export interface ClientSource {
  /** Whether a client_id is one of its own, by its form. Of several sources the first has it. */
  recognizes(clientId: string): boolean
  /**
   * What it is now, which may be asked elsewhere; null where there is none. Throws `OAuthError` (`invalid_client`) for what cannot be
   * read, or is not fit to be a client.
   */
  find(clientId: string): Promise<SourcedClient | null>
  /** What was last known of it, without asking elsewhere: for who shows it, or looks at what it holds. Null where there is none. */
  recall(clientId: string): Promise<SourcedClient | null>
}
