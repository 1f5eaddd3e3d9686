/** The replica of DATABASE_REPLICA_URL, where there is one: whether lists can be read from it, and how far it is behind. */
import type { Config } from '../config.ts'
import { describeFailure, MOST_BEHIND } from '../services/listings.ts'
import type { Place } from '../store/connections.ts'
import { openDatabase } from '../store/database.ts'
import { identityOf, isSame, openReplica, positionNumber, statements } from '../store/replica.ts'
import { ok, warn, type Finding } from './finding.ts'

const CHECK = 'replica'

/** It is never more than a warning: without it, lists come from the primary. */
export async function examineReplica(place: Place, config: Config): Promise<Finding[]> {
  const { DATABASE_REPLICA_URL: url, DATABASE_SCHEMA: schema, DATABASE_PREPARE: prepare } = config
  if (url === undefined) return []
  const database = await openDatabase({ ...place, poolSize: 2, prepare })
  const replica = openReplica({ url, schema, prepare })
  try {
    const [ours, [position]] = [
      await identityOf(database.query, schema),
      await database.query(statements.position),
    ]
    const state = await replica.look()
    if (!state.isStandby)
      return [
        warn(
          CHECK,
          `The server at ${replica.where} is no replica, it takes writes itself: let DATABASE_REPLICA_URL name a streaming replica.`,
        ),
      ]
    const is = `The replica at ${replica.where}`
    if (!isSame(ours, state))
      return [warn(CHECK, `${is} is one of another database: mend DATABASE_REPLICA_URL.`)]
    if (state.lacking > 0)
      return [
        warn(
          CHECK,
          `${is} lacks migrations of this version: it has them when it has caught up; see that it replays.`,
        ),
      ]
    const hasAll = positionNumber(state.replayed) >= positionNumber(position!.flushed)
    const seconds = hasAll ? 0 : Math.max(0, Math.round((position!.at - (state.replayedAt ?? 0)) / 1000))
    return seconds * 1000 > MOST_BEHIND
      ? [warn(CHECK, `${is} is ${seconds} s behind, so lists come from the primary: see that it replays.`)]
      : [ok(CHECK, `${is} is ${seconds} s behind.`)]
  } catch (error) {
    return [
      warn(
        CHECK,
        `The replica at ${replica.where} ${describeFailure(error)}, so lists come from the primary: see that it runs, and that DATABASE_REPLICA_URL names it.`,
      ),
    ]
  } finally {
    await Promise.all([database.close(), replica.close()])
  }
}
