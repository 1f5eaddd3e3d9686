/** Secrets that are made once: the first insert stands, whoever else tries. */
import { ServerSecret } from '../entities/server-secret.ts'
import { statement } from './statement.ts'

export const statements = {
  find: statement<Pick<ServerSecret, 'sealed'>>('server-secret', (table) => {
    const secret = table(ServerSecret)
    return `select ${secret.columns('sealed')} from ${secret.name} where ${secret.column('name')} = $1`
  }),
  all: statement<Pick<ServerSecret, 'name' | 'sealed'>>('server-secrets', (table) => {
    const secret = table(ServerSecret)
    return `select ${secret.columns('name', 'sealed')} from ${secret.name}`
  }),
  insert: statement('server-secret-insert', (table) => {
    const secret = table(ServerSecret)
    return `insert into ${secret.name} (${secret.column('name')}, ${secret.column('sealed')}) values ($1, $2)
      on conflict do nothing`
  }),
  reseal: statement('server-secret-reseal', (table) => {
    const secret = table(ServerSecret)
    return `update ${secret.name} set ${secret.column('sealed')} = $3
      where ${secret.column('name')} = $1 and ${secret.column('sealed')} = $2`
  }),
}
