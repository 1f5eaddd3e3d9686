/** A client_id that was deleted and registered again is another client: what the former one was given is not its. */
import type { Client } from '../../doors/client.ts'

/** Milliseconds by which the clocks of our processes and the database's may differ. */
export const CLOCK_SKEW = 2000

/** Whether what was given at `instant` (milliseconds since the epoch) was given to this client, by its `client_id`. */
export function isOfClient(clientId: string, instant: number, client: Client): boolean {
  return clientId === client.clientId && instant + CLOCK_SKEW >= client.registeredAt
}
