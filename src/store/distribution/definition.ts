/** A table as PostgreSQL's catalogue describes it, and the statements that make one like it elsewhere. */
import pg from 'pg'

/** Whoever asks PostgreSQL on one connection, `pg`'s or that of a migration; values stand in the text. */
export interface Asking {
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- as `pg` has it: who asks knows what comes.
  query<Row extends pg.QueryResultRow = never>(text: string): Promise<{ rows: Row[] }>
}

export interface Column {
  readonly name: string
  readonly type: string
  readonly notNull: boolean
  /** An expression; null for none. */
  readonly default: string | null
}

export interface Index {
  readonly name: string
  /** `create index …`, with the table as the connection that asked calls it. */
  readonly definition: string
}

export interface Definition {
  readonly columns: readonly Column[]
  /** Quoted columns; none of a table that has no primary key. */
  readonly primaryKey: readonly string[]
  /** Without those that hold a key. */
  readonly indexes: readonly Index[]
}

/** Of a table by its qualified name. */
export async function definitionOf(client: Asking, table: string): Promise<Definition> {
  const relation = pg.escapeLiteral(table)
  const columns = await client.query<Column>(
    `select quote_ident(attname) as "name", format_type(atttypid, atttypmod) as "type", attnotnull as "notNull",
        pg_get_expr(adbin, adrelid) as "default"
      from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
      where attrelid = ${relation}::regclass and attnum > 0 and not attisdropped order by attnum`,
  )
  const indexes = await client.query<Index>(
    `select relname as "name", pg_get_indexdef(indexrelid) as "definition"
      from pg_index join pg_class on pg_class.oid = indexrelid
      where indrelid = ${relation}::regclass and not indisunique and not indisprimary order by relname`,
  )
  const keys = await client.query<{ name: string }>(
    `select quote_ident(attname) as "name" from pg_index
        cross join unnest(indkey) with ordinality as key (attnum, at)
        join pg_attribute on attrelid = indrelid and pg_attribute.attnum = key.attnum
      where indrelid = ${relation}::regclass and indisprimary order by at`,
  )
  return { columns: columns.rows, primaryKey: keys.rows.map(({ name }) => name), indexes: indexes.rows }
}

export function columnClause({ name, type, notNull, default: value }: Column): string {
  return `${name} ${type}${value === null ? '' : ` default ${value}`}${notNull ? ' not null' : ''}`
}

/** The same index of another table, where it is not there yet; on a partitioned one, of it and not of its partitions alone. */
export function indexOn({ name, definition }: Index, table: string): string {
  const [, method = ''] = / USING (.+)$/s.exec(definition) ?? []
  return `create index if not exists "${name}" on ${table} using ${method}`
}
