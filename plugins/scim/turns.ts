/** What is dear, one after another for each client: who asks for much of it at once waits for themselves, and keeps nobody else waiting. */
import { OAuthError } from '../../src/protocol/errors.ts'

/** Of one client, with what is under way. */
const MOST = 4

/** Runs `work` of this client when its turn comes. Throws `temporarily_unavailable` where too much of the client's waits already. */
export type InTurn = <T>(clientId: string, work: () => Promise<T>) => Promise<T>

export function createTurns(): InTurn {
  const lines = new Map<string, { length: number; last: Promise<unknown> }>()

  return async (clientId, work) => {
    const line = lines.get(clientId) ?? { length: 0, last: Promise.resolve() }
    if (line.length >= MOST)
      throw new OAuthError('temporarily_unavailable', 'too many searches of this client wait; try again')
    lines.set(clientId, line)
    line.length++
    const mine = line.last.then(work)
    line.last = mine.catch(() => {})
    return mine.finally(() => {
      if (--line.length === 0) lines.delete(clientId)
    })
  }
}
