/** A record of which a user has one: set anew, whatever was there. */
import type { UserRecord, UserRecords } from '../../doors/user-records.ts'
import type { NewEvent } from '../../events.ts'
import { UnreadableError } from '../keys/secret-box.ts'

/** Of several at once, who loses looks again, so many times. */
const TRIES = 5

/** Stores it in the place of what was there, with the event. Throws where others set theirs at the same time, again and again. */
export async function setSole<Value extends object>(
  records: UserRecords<Value>,
  userId: string,
  id: string,
  value: Value,
  event: NewEvent,
): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const had = await readable(records, userId, id)
    const isStored =
      had === null
        ? await records.put(userId, id, value, event)
        : await records.replace(userId, had, value, event)
    if (isStored) return
  }
  throw new Error(`${event.type}: another one was stored at the same time, ${TRIES} times`)
}

/** One that no SECRET_KEY fits any more makes room. */
async function readable<Value extends object>(
  records: UserRecords<Value>,
  userId: string,
  id: string,
): Promise<UserRecord<Value> | null> {
  try {
    return await records.get(userId, id)
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error
    await records.delete(userId, id)
    return null
  }
}
