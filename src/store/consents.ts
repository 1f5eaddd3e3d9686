/** What users have allowed clients, remembered. */
import { Consent } from '../entities/consent.ts'
import { statement } from './statement.ts'

export const statements = {
  find: statement<Pick<Consent, 'scopes' | 'resources'>>('consent-find', (table) => {
    const consent = table(Consent)
    return `select ${consent.columns('scopes', 'resources')} from ${consent.name}
      where ${consent.column('user')} = $1 and ${consent.column('client')} = $2`
  }),
  /** Adds to what was allowed before. */
  grant: statement('consent-grant', (table) => {
    const consent = table(Consent)
    const [user, client, scopes, resources, grantedAt] = (
      ['user', 'client', 'scopes', 'resources', 'grantedAt'] as const
    ).map((one) => consent.column(one))
    const both = (column: string): string =>
      `array(select distinct unnest(had.${column} || excluded.${column}) order by 1)`
    return `insert into ${consent.name} as had (${user}, ${client}, ${scopes}, ${resources}) values ($1, $2, $3, $4)
      on conflict (${user}, ${client}) do update
        set ${scopes} = ${both(scopes!)}, ${resources} = ${both(resources!)}, ${grantedAt} = now()`
  }),
}
