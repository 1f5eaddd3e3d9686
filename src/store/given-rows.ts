/** Many rows in one statement: they come as a JSON array, `$1`, of objects with their properties' names. */
import type { Table } from './statement.ts'

/** SQL types by property. */
type Types<E> = Partial<Record<keyof E & string, string>>

/** `given`, with a column for each property, for a `from`. */
function givenRows<E>(types: Types<E>): string {
  const columns = Object.entries(types).map(([property, type]) => `"${property}" ${String(type)}`)
  return `jsonb_to_recordset($1::jsonb) as given (${columns.join(', ')})`
}

/** Inserts them; a row that is there already refuses them all. */
export function insertGiven<E>(table: Table<E>, types: Types<E>): string {
  const properties = Object.keys(types) as (keyof E & string)[]
  const columns = properties.map((property) => table.column(property)).join(', ')
  const values = properties.map((property) => `given."${property}"`).join(', ')
  return `insert into ${table.name} (${columns}) select ${values} from ${givenRows(types)}`
}

/** Gives each row that has the given `keys` the other given values; `also` is set with them. */
export function updateGiven<E>(
  table: Table<E>,
  types: Types<E>,
  keys: readonly (keyof E & string)[],
  also = '',
): string {
  const properties = (Object.keys(types) as (keyof E & string)[]).filter((one) => !keys.includes(one))
  const set = properties.map((property) => `${table.column(property)} = given."${property}"`).join(', ')
  const same = keys.map((key) => `had.${table.column(key)} = given."${key}"`).join(' and ')
  // By the index, however few rows PostgreSQL takes the table to have: it does not know how many are given.
  const named = keys
    .map((key) => `had.${table.column(key)} = any(array(select given."${key}" from ${givenRows(types)}))`)
    .join(' and ')
  return `update ${table.name} had set ${set}${also} from ${givenRows(types)} where ${same} and ${named}`
}
