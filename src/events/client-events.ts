/** Events of clients, and of the tokens by which they register. */
import type { Changes } from '../protocol/changes.ts'
import { tells, type Ended } from './tells.ts'

export const CLIENT_EVENTS = {
  'client.registered': tells<{ readonly changes: Changes }>(),
  'client.changed': tells<{ readonly changes: Changes }>(),
  /** `overlap`: seconds that the former secret goes on working. */
  'client.secret_rotated': tells<{ readonly overlap: number }>(),
  'client.deleted': tells<Ended>(),
  /** One that is known by its metadata document, by its address, or all of a host. What it had ends. */
  'client.blocked': tells<{ readonly blocked: string }>(),
  'client.unblocked': tells<{ readonly blocked: string }>(),
  'client.authentication_failed': tells<{ readonly account?: string }>(),
  /** For `uses` registrations; an initial access token, by its name. */
  'initial_token.created': tells<{ readonly initialToken: string; readonly uses: number }>(),
  'initial_token.deleted': tells<{ readonly initialToken: string }>(),
}
