/** Parameters of statements that go in by their names: who adds one counts nothing. */
import { statement, type Statement, type TableOf, type Travels } from './statement.ts'

/** A statement whose values have names. */
export interface Named<Row, Name extends string> extends Statement<Row> {
  /** The values as `$1, $2 …`; null for what is not given. */
  values(given: Given<Name>): unknown[]
}

export type Given<Name extends string> = Readonly<Partial<Record<Name, unknown>>>

/** How parameters stand in the text, by their names: `$1::uuid`. */
export type Places<Name extends string> = Readonly<Record<Name, string>>

export interface Parameters<Name extends string> {
  statement<Row = never>(
    name: string,
    build: (table: TableOf, at: Places<Name>) => string,
    travels?: Travels,
    onCitus?: (table: TableOf, at: Places<Name>) => string,
  ): Named<Row, Name>
}

/** `types` are those of SQL, in the order of the parameters; a statement uses all of them. */
export function parameters<Name extends string>(types: Readonly<Record<Name, string>>): Parameters<Name> {
  const names = Object.keys(types) as Name[]
  const at = Object.fromEntries(
    names.map((name, index) => [name, `$${index + 1}::${types[name]}`]),
  ) as Places<Name>
  const values = (given: Given<Name>): unknown[] => names.map((name) => given[name] ?? null)
  return {
    statement: <Row>(
      name: string,
      build: (table: TableOf, at: Places<Name>) => string,
      travels?: Travels,
      onCitus?: (table: TableOf, at: Places<Name>) => string,
    ): Named<Row, Name> => ({
      ...statement<Row>(
        name,
        (table) => build(table, at),
        travels,
        onCitus && ((table) => onCitus(table, at)),
      ),
      values,
    }),
  }
}
