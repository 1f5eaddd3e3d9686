/** A client_id that was deleted and registered again is another client: what the former one was given is not its. */
import type { Client } from '../../doors/client.ts'
import { OWN_CLOCK_SKEW } from '../../protocol/age-of.ts'

/** Whether what was given at `instant` (milliseconds since the epoch) was given to this client, by its `client_id`. */
export function isOfClient(clientId: string, instant: number, client: Client): boolean {
  return clientId === client.clientId && instant + OWN_CLOCK_SKEW * 1000 >= client.registeredAt
}
