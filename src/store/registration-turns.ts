/**
 * Clients that register themselves by one door do so one after the other, so that each sees how many there are. Of what each inserts and deletes in its
 * own transaction nobody ever sees a row, and until the end of the transaction its key is taken, as in `name-claims.ts`.
 */
import type { EntityManager } from '@mikro-orm/postgresql'
import { PluginRecord } from '../entities/plugin-record.ts'

/** No plugin's: their kinds have no spaces. */
const KIND = 'self-registration by'

/** From here to the end of the transaction nobody else registers by the door of this name. */
export async function takeTurn(em: EntityManager, registrar: string): Promise<void> {
  const turn = { kind: KIND, id: registrar }
  await em.insert(PluginRecord, { ...turn, value: {} })
  await em.nativeDelete(PluginRecord, turn)
}
