/**
 * A function of the database that does all that a statement does where the rows of one Authorization lie: what Citus sends there as one
 * command, and commits there alone. Elsewhere there is none, and no need of one.
 */
import { Authorization } from '../entities/authorization.ts'
import type { Places } from './parameters.ts'
import type { TableOf } from './statement.ts'

export interface PlacedFunction {
  readonly name: string
  /** The call with these parameters; null for those that it has none for. */
  call(table: TableOf, at: Places<string>): string
  /** Its name, in the schema of our tables, with its types: `latchkey_exchange(uuid, text)`. */
  signature(table: TableOf): string
  /** Makes it, in place of one of the same signature. */
  create(table: TableOf): string
  /** The parameter by which it is placed. */
  readonly placedBy: string
}

interface Options<Name extends string, Own extends string> {
  readonly name: string
  /** Of its parameters, in their order; `id` is that of the Authorization. */
  readonly types: Readonly<Record<Name | 'id', string>>
  readonly returns: Readonly<Record<string, string>>
  /** Variables of its own, and their types. */
  readonly declares: Readonly<Record<Own, string>>
  /** PL/pgSQL, between `begin` and `end`. */
  readonly body: (table: TableOf, at: Places<Name | 'id'>, own: Places<Own>) => string
}

/** Parameters and variables have names that no column has. */
const inside = (name: string): string => `"p_${name}"`

export function placedFunction<Name extends string, Own extends string>(
  options: Options<Name, Own>,
): PlacedFunction {
  const { name, types, returns, declares, body } = options
  const parameters = Object.keys(types) as (Name | 'id')[]
  const own = Object.keys(declares) as Own[]
  const qualified = (table: TableOf): string => table(Authorization).name.replace(/"[^"]+"$/, `"${name}"`)
  const places = <Key extends string>(names: readonly Key[]): Places<Key> =>
    Object.fromEntries(names.map((one) => [one, inside(one)])) as Places<Key>
  const list = (pairs: Readonly<Record<string, string>>, named: (one: string) => string): string =>
    Object.entries(pairs)
      .map(([one, type]) => `${named(one)} ${type}`)
      .join(', ')
  const quoted = (one: string): string => `"${one}"`

  return {
    name,
    placedBy: 'p_id',
    signature: (table) => `${qualified(table)}(${parameters.map((one) => types[one]).join(', ')})`,
    call(table, at) {
      const given = parameters.map((one) => at[one] ?? `null::${types[one]}`).join(', ')
      return `select ${Object.keys(returns).map(quoted).join(', ')} from ${qualified(table)}(${given})`
    },
    create: (table) => `create or replace function ${qualified(table)}(${list(types, inside)})
      returns table (${list(returns, quoted)}) language plpgsql as $body$
      #variable_conflict use_column
      declare ${own.map((one) => `${inside(one)} ${declares[one]};`).join(' ')}
      begin
        ${body(table, places(parameters), places(own))}
      end $body$`,
  }
}
