/**
 * `defineEntity` and `p` as MikroORM has them, and without MikroORM: what entities declare is written down, for statements to
 * read, and told to MikroORM once there is somebody who administers (docs/adr/0026). All types are MikroORM's.
 */
import type { defineEntity as DefineEntity, EntityClass, p as Builders } from '@mikro-orm/core'

type Property = object | (() => object)
type Call = readonly [method: string, given: readonly unknown[]]

interface Declaration {
  readonly name: string
  readonly tableName: string
  readonly properties: Readonly<Record<string, Property>>
}

const declarations = new Map<unknown, Declaration>()
/** What was called on each builder, in its order. */
const written = new WeakMap<object, readonly Call[]>()

function write(calls: readonly Call[]): object {
  const builder = new Proxy(
    {},
    {
      get:
        (_, method: string) =>
        (...given: unknown[]) =>
          write([...calls, [method, given]]),
    },
  )
  written.set(builder, calls)
  return builder
}

export const p = write([]) as typeof Builders

export const defineEntity = ((declaration: Declaration) => ({
  // MikroORM takes a base of another name for one more entity.
  // oxlint-disable-next-line typescript/no-extraneous-class -- to be derived from.
  class: { [declaration.name]: class {} }[declaration.name],
  setClass: (entity: unknown) => declarations.set(entity, declaration),
})) as unknown as typeof DefineEntity

/** What an entity says of itself. */
export interface Declared {
  readonly tableName: string
  /** What was called to declare a property, by method; undefined for one that is not there. */
  property(name: string): ReadonlyMap<string, readonly unknown[]> | undefined
}

/** Undefined for what is no entity. */
export function declaredBy<E>(entity: EntityClass<E>): Declared | undefined {
  const declaration = declarations.get(entity)
  if (declaration === undefined) return undefined
  const { tableName, properties } = declaration
  return {
    tableName,
    property(name) {
      const found = properties[name]
      return found === undefined ? undefined : new Map(callsOf(found))
    },
  }
}

/** Tells MikroORM, by its own two, what an entity declares. */
export function tell(
  entity: EntityClass<unknown>,
  theirs: { defineEntity: typeof DefineEntity; p: typeof Builders },
): void {
  const { properties, ...declaration } = declarations.get(entity)!
  const replay = (property: Property): unknown =>
    callsOf(property).reduce<unknown>(
      (made, [method, given]) =>
        (made as Record<string, (...given: readonly unknown[]) => unknown>)[method]!(...given),
      theirs.p,
    )
  const told = Object.entries(properties).map(([name, property]) => [
    name,
    // One that names another entity waits until that is there.
    typeof property === 'function' ? () => replay(property) : replay(property),
  ])
  theirs
    .defineEntity({ ...declaration, properties: Object.fromEntries(told) as never })
    .setClass(entity as never)
}

function callsOf(property: Property): readonly Call[] {
  return written.get(typeof property === 'function' ? (property as () => object)() : property)!
}
