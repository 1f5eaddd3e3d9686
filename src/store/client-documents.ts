/** Metadata documents of clients as they were last read, by their addresses. */
import { ClientDocument } from '../entities/client-document.ts'
import { CLOCK_SKEW } from '../protocol/signed-jwt.ts'
import { isAhead, statement } from './statement.ts'

export type ClientDocumentRow = Pick<
  ClientDocument,
  'document' | 'readAt' | 'freshUntil' | 'staleUntil' | 'keptUntil'
> & {
  /** Whether a clock that was ahead has dated it, so that nobody knows how old it is. */
  isAhead: boolean
}

const COLUMNS = ['clientId', 'document', 'readAt', 'freshUntil', 'staleUntil', 'keptUntil'] as const

export const statements = {
  /** One that may still serve. */
  find: statement<ClientDocumentRow>('client-document-find', (table) => {
    const kept = table(ClientDocument)
    return `select ${kept.columns('document', 'readAt', 'freshUntil', 'staleUntil', 'keptUntil')},
        ${kept.column('readAt')} > now() as "isAhead" from ${kept.name}
      where ${kept.column('clientId')} = $1 and ${isAhead(kept.column('keptUntil'))}`
  }),
  /**
   * In the place of an older one, or of one that a clock which was ahead has dated; a new one only while there are fewer than $7. It was
   * read now, by the database's clock, whatever that of the process ($3) says: of the other instants the distance from that counts.
   */
  keep: statement('client-document-keep', (table) => {
    const kept = table(ClientDocument)
    const [clientId, ...others] = COLUMNS.map((one) => kept.column(one))
    const some = `select from ${kept.name} limit $7`
    return `insert into ${kept.name} as had (${[clientId, ...others].join(', ')})
      select $1::text, $2::jsonb, ${['$3', '$4', '$5', '$6'].map((one) => `now() + (${one}::timestamptz - $3::timestamptz)`).join(', ')}
        where exists (select from ${kept.name} where ${clientId} = $1::text) or (select count(*) from (${some}) one) < $7
      on conflict (${clientId}) do update set ${others.map((one) => `${one} = excluded.${one}`).join(', ')}
        where had.${kept.column('readAt')} < excluded.${kept.column('readAt')}
          or had.${kept.column('readAt')} > now() + interval '${CLOCK_SKEW} seconds'`
  }),
}
