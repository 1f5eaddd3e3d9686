/** Single-use and polled things: each is spent, or replaced, by one guarded statement. */
import { Artifact } from '../entities/artifact.ts'
import { isAhead, statement } from './statement.ts'

export const statements = {
  put: statement<{ stored: true }>('artifact-put', (table) => {
    const artifact = table(Artifact)
    const columns = (['kind', 'hash', 'value', 'expiresAt'] as const).map((one) => artifact.column(one))
    const [value, expiresAt] = [artifact.column('value'), artifact.column('expiresAt')]
    // A handle whose former thing is dead may be used again.
    return `insert into ${artifact.name} as had (${columns.join(', ')})
      values ($1, $2, $3, now() + make_interval(secs => $4))
      on conflict (${columns[0]}, ${columns[1]}) do update set ${value} = excluded.${value},
        ${expiresAt} = excluded.${expiresAt}, ${artifact.column('revision')} = 0, ${artifact.column('spentAt')} = null
      where had.${expiresAt} <= now()
      returning true as "stored"`
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
