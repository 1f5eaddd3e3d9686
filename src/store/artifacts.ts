/** Single-use and polled things: each is spent, or replaced, by one guarded statement. */
import { Artifact } from '../entities/artifact.ts'
import { isAhead, statement, type Table } from './statement.ts'

export const statements = {
  put: statement<{ stored: true }>('artifact-put', (table) => insert(table(Artifact), 'null')),
  /** One of the owner $5, whose oldest ones give way so that there are $6 at most. */
  putOwned: statement<{ stored: true }>('artifact-put-owned', (table) => {
    const artifact = table(Artifact)
    const [kind, hash, owner] = (['kind', 'hash', 'owner'] as const).map((one) => artifact.column(one))
    return `with older as (select ${kind}, ${hash} from ${artifact.name}
        where ${owner} = $5 and ${kind} = $1
        order by ${artifact.column('expiresAt')} desc offset greatest($6::int - 1, 0)),
      gone as (delete from ${artifact.name} using older
        where ${artifact.name}.${kind} = older.${kind} and ${artifact.name}.${hash} = older.${hash})
      ${insert(artifact, '$5')}`
  }),
  get: statement<Pick<Artifact, 'value' | 'revision'>>('artifact-get', (table) => {
    const artifact = table(Artifact)
    return `select ${artifact.columns('value', 'revision')} from ${artifact.name}
      where ${artifact.column('kind')} = $1 and ${artifact.column('hash')} = any($2)
        and ${artifact.column('spentAt')} is null and ${isAhead(artifact.column('expiresAt'))}`
  }),
  replace: statement<{ replaced: true }>('artifact-replace', (table) => {
    const artifact = table(Artifact)
    return `update ${artifact.name}
      set ${artifact.column('value')} = $4, ${artifact.column('revision')} = ${artifact.column('revision')} + 1
      where ${artifact.column('kind')} = $1 and ${artifact.column('hash')} = any($2) and ${artifact.column('value')} = $3
        and ${artifact.column('spentAt')} is null and ${isAhead(artifact.column('expiresAt'))}
      returning true as "replaced"`
  }),
  spend: statement<{ spent: true }>('artifact-spend', (table) => {
    const artifact = table(Artifact)
    return `update ${artifact.name} set ${artifact.column('spentAt')} = now()
      where ${artifact.column('kind')} = $1 and ${artifact.column('hash')} = any($2)
        and ${artifact.column('spentAt')} is null and ${isAhead(artifact.column('expiresAt'))}
      returning true as "spent"`
  }),
}

function insert(artifact: Table<Artifact>, owner: string): string {
  const columns = (['kind', 'hash', 'value', 'expiresAt', 'owner'] as const).map((one) =>
    artifact.column(one),
  )
  const again = (['value', 'expiresAt', 'owner'] as const).map((one) => artifact.column(one))
  // A handle whose former thing is dead may be used again.
  return `insert into ${artifact.name} as had (${columns.join(', ')})
    values ($1, $2, $3, now() + make_interval(secs => $4), ${owner})
    on conflict (${columns[0]}, ${columns[1]}) do update
      set ${again.map((one) => `${one} = excluded.${one}`).join(', ')},
        ${artifact.column('revision')} = 0, ${artifact.column('spentAt')} = null
    where had.${artifact.column('expiresAt')} <= now()
    returning true as "stored"`
}
