/** How many there are, as far as one cares to count: no statement here reads more rows than it is told. */
import { Client } from '../entities/client.ts'
import { Session } from '../entities/session.ts'
import { User } from '../entities/user.ts'
import { shown, statement } from './statement.ts'

export interface FiguresRow {
  users: number
  clients: number
  sessions: number
}

export const statements = {
  /** Each up to $1. */
  counts: shown(
    statement<FiguresRow>('figures-counts', (table) => {
      const [user, client, session] = [table(User), table(Client), table(Session)]
      const upTo = (rows: string): string => `(select count(*)::int from (select from ${rows} limit $1) one)`
      // It is never after `endsAt`. In its order, since most of those that are there were left.
      const expiresAt = session.column('expiresAt')
      const open = `${session.name} where ${expiresAt} > now() order by ${expiresAt} desc`
      return `select ${upTo(user.name)} as "users", ${upTo(client.name)} as "clients",
      ${upTo(open)} as "sessions"`
    }),
  ),
}
