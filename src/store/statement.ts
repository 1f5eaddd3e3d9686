/**
 * A named SQL statement of the hot path. Its table and column names come from the entities themselves, so
 * that the two cannot drift; `tests/store/statements.test.ts` prepares every one against the migrated schema.
 */
import type { EntityClass } from '@mikro-orm/core'
import { declaredBy } from '../entities/define.ts'
import { qualified } from './connections.ts'
import type { Engine } from './engines.ts'

/** Values go in as `$1, $2 …`; `Row` is what one row of the result holds. */
export interface Statement<Row> {
  readonly name: string
  /**
   * Whether it may travel with the same of other requests, and be committed with them: it locks rows of one
   * Authorization alone, or one key, its `$1`.
   */
  readonly travels?: Travels | undefined
  /** Whether a replica may answer it: what it finds is shown to people, and decides nothing. */
  readonly isShown?: boolean
  readonly build: (table: TableOf) => string
  /** Another text, with the same parameters and rows, where Citus distributes the database: it refuses some forms (docs/adr/0055). */
  readonly onCitus?: ((table: TableOf) => string) | undefined
  /** Whether it writes what lies apart where the database is distributed: then it is never asked, and several do the same. */
  readonly onOneServer?: boolean
  /** Never there: carries the row's type. */
  readonly row?: Row
}

/** Runs one statement and returns its rows. */
export type Query = <Row>(statement: Statement<Row>, values?: readonly unknown[]) => Promise<Row[]>

/** Alone, unless this is said. */
export type Travels = 'with readers' | 'with writers'

/** Columns of one entity, quoted. */
export interface Table<E> {
  /** The table's name, with its schema where that is not the connection's own. */
  readonly name: string
  /** The column of a property. */
  column(property: keyof E & string): string
  /** A select list that names each column by its property. */
  columns(...properties: (keyof E & string)[]): string
}

export type TableOf = <E>(entity: EntityClass<E>) => Table<E>

/**
 * That the instant in `column` has not come, as a condition that no index knows: rows that are found by their key are
 * found by it also right after a vacuum, when an index by age is so small that PostgreSQL would take it for the shortest
 * way, and go on taking it while it grows.
 */
export function isAhead(column: string): string {
  return `${column} + interval '0' > now()`
}

/** The instant in `column` as seconds since the epoch, whatever the zone of the connection: also where rows are returned that Citus wrote. */
export function secondsOf(column: string): string {
  return `extract(epoch from ${column} at time zone 'UTC')::float8`
}

/** Declares a statement; `name` is unique, since PostgreSQL prepares it under that name. */
export function statement<Row = never>(
  name: string,
  build: (table: TableOf) => string,
  travels?: Travels,
  onCitus?: (table: TableOf) => string,
): Statement<Row> {
  return { name, build, travels, onCitus }
}

/** The text as a database takes it that is distributed so. Throws for one that is for one server where it is. */
export function textOn(
  engine: Engine | null,
  { name, build, onCitus, onOneServer }: Statement<unknown>,
  table: TableOf,
): string {
  if (engine !== null && onOneServer === true) throw new Error(`${name} is for one server`)
  return engine === 'citus' && onCitus !== undefined ? onCitus(table) : build(table)
}

/** The same, marked as one that is for a database on one server. */
export function undivided<One extends Statement<unknown>>(one: One): One {
  return { ...one, onOneServer: true }
}

/** The same, marked as one whose rows are shown to people and decide nothing: a replica may answer it. */
export function shown<Row>(one: Statement<Row>): Statement<Row> {
  return { ...one, isShown: true }
}

/**
 * Resolves entities by what they declare, to tables in `schema`: MikroORM itself need not be there. Throws on an entity
 * or property that is not.
 */
export function tableOf(schema?: string): TableOf {
  return <E>(entity: EntityClass<E>): Table<E> => {
    const declared = declaredBy(entity)
    if (declared === undefined) throw new Error(`${entity.name} is no entity`)
    const column = (property: string): string => {
      const said = declared.property(property)
      // What another's column points back from has none of its own.
      if (said === undefined || said.has('mappedBy'))
        throw new Error(`${entity.name} has no column for ${property}`)
      const [name = snakeCase(property)] = said.get('fieldName') ?? []
      return `"${String(name)}"`
    }
    return {
      name: qualified({ schema }, declared.tableName),
      column,
      columns: (...properties) => properties.map((one) => `${column(one)} as "${one}"`).join(', '),
    }
  }
}

/** As MikroORM names columns (its `UnderscoreNamingStrategy`). */
function snakeCase(property: string): string {
  return property.replaceAll(/([a-z])([A-Z])/g, '$1_$2').toLowerCase()
}
