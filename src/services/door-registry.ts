/** Keeps what plugins registered at the doors, each kind its way, and refuses at boot what cannot be meant. */
import type { TObject } from 'typebox'
import type { Additive, Dispatched, Ordered } from '../door-kinds.ts'
import type { Bag, Call, Grant, Granted } from '../doors.ts'
import { ConfigError } from '../config.ts'
import { compileParameters } from '../protocol/parameters.ts'
import type { Wire } from '../protocol/wire.ts'

/** A grant with its parameters' types closed over: it takes the wire as it is. */
export interface RegisteredGrant {
  readonly type: string
  readonly publicClients: boolean
  authorize(wire: Wire, call: Call): Promise<Granted>
}

export interface DoorRegistry {
  readonly grants: ReadonlyMap<string, RegisteredGrant>
  registerGrant<P extends TObject>(grant: Grant<P>): void
  /** Throws when `key` has an owner already. */
  register<K extends keyof Dispatched>(kind: K, key: string, owner: Dispatched[K]): void
  owners<K extends keyof Dispatched>(kind: K): ReadonlyMap<string, Dispatched[K]>
  add<K extends keyof Ordered>(kind: K, item: Ordered[K]): void
  all<K extends keyof Ordered>(kind: K): readonly Ordered[K][]
  extend<K extends keyof Additive>(at: K, contribute: Contribute<K>): void
  /** `owned` with every contribution; what `owned` has, and what an earlier one gave, stands. */
  extended<K extends keyof Additive>(at: K, subject: Additive[K], owned: Bag): Promise<Bag>
  /** From here on every registration throws: the server has started. */
  close(): void
}

/** Gets the document as it is so far, to refer to what it holds. */
export type Contribute<K extends keyof Additive> = (subject: Additive[K], document: Bag) => Promise<Bag>
type Contribution = (subject: never, document: Bag) => Promise<Bag>

export function createDoorRegistry(): DoorRegistry {
  const grants = new Map<string, RegisteredGrant>()
  const dispatched = new Map<keyof Dispatched, Map<string, Dispatched[keyof Dispatched]>>()
  const ordered = new Map<keyof Ordered, Ordered[keyof Ordered][]>()
  const additive = new Map<keyof Additive, Contribution[]>()
  let closed = false

  const assertOpen = (what: string): void => {
    if (closed) throw new ConfigError(`${what} must be registered before the server is ready.`)
  }

  return {
    grants,
    registerGrant<P extends TObject>(grant: Grant<P>) {
      assertOpen(`The grant ${grant.type}`)
      if (grants.has(grant.type)) throw new ConfigError(`The grant ${grant.type} is registered twice.`)
      const parse = compileParameters(grant.parameters)
      grants.set(grant.type, {
        type: grant.type,
        publicClients: grant.publicClients ?? false,
        authorize: async (wire, call) => grant.authorize(parse(wire), call),
      })
    },
    register(kind, key, owner) {
      assertOpen(`The ${kind} ${key}`)
      const owners = dispatched.get(kind) ?? new Map<string, Dispatched[keyof Dispatched]>()
      if (owners.has(key)) throw new ConfigError(`The ${kind} ${key} is registered twice.`)
      dispatched.set(kind, owners.set(key, owner))
    },
    owners: <K extends keyof Dispatched>(kind: K) =>
      (dispatched.get(kind) ?? new Map()) as ReadonlyMap<string, Dispatched[K]>,
    add(kind, item) {
      assertOpen(`A ${kind}`)
      ordered.set(kind, [...(ordered.get(kind) ?? []), item])
    },
    all: <K extends keyof Ordered>(kind: K) => (ordered.get(kind) ?? []) as unknown as readonly Ordered[K][],
    extend(at, contribute) {
      assertOpen(`A contribution to ${at}`)
      additive.set(at, [...(additive.get(at) ?? []), contribute])
    },
    async extended(at, subject, owned) {
      const contributions = additive.get(at)
      if (contributions === undefined) return owned
      const merged: Record<string, unknown> = { ...owned }
      for (const contribute of contributions) {
        const members = await contribute(subject as never, merged)
        for (const name of Object.keys(members)) {
          if (!Object.hasOwn(merged, name) && members[name] !== undefined) merged[name] = members[name]
        }
      }
      return merged
    },
    close() {
      closed = true
    },
  }
}
