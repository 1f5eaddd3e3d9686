/** Keeps what plugins registered at the doors, each kind its way, and refuses at boot what cannot be meant. */
import type { TObject } from 'typebox'
import type { Additive, AdditiveCall, AdditiveValue, Dispatched, Ordered } from './kinds.ts'
import type { ResponseMode } from './approval.ts'
import { isAnswer, type Answer } from './answer.ts'
import type { Call, Grant } from './back-channel.ts'
import type { ClientAuthentication } from './client.ts'
import type { Granted } from './facts.ts'
import type { Bag } from '../protocol/bag.ts'
import { ConfigError } from '../config.ts'
import { assertEstablished, assertGrant } from './grant-shape.ts'
import { assertDoor, assertItem, assertOwner } from './known-doors.ts'
import { compileParameters } from '../protocol/parameters.ts'
import { orderedResponseType } from '../protocol/response-type.ts'
import { findNearest } from '../protocol/nearest.ts'
import type { Wire } from '../protocol/wire.ts'
import type { Representation } from './representation.ts'
import { createTakenNames, memberOf, type Document, type OwnedKind } from './taken-names.ts'

/** A grant with its parameters' types closed over: it takes the wire as it is. */
export interface RegisteredGrant {
  readonly type: string
  readonly publicClients: boolean
  authorize(wire: Wire, call: Call): Promise<Granted | Answer>
}

export interface DoorRegistry {
  /** Throws once the server is ready; `what` begins the sentence. */
  assertOpen(what: string): void
  readonly grants: ReadonlyMap<string, RegisteredGrant>
  registerGrant<P extends TObject>(grant: Grant<P>): void
  /** Parameters that prove who a client is: no handler sees them. */
  readonly credentials: ReadonlySet<string>
  /** What a handler reads. Throws where that is a credential. */
  reads(parameters: TObject): void
  /** Whether a parameter of this name says something here, whichever endpoint reads it. */
  isRead(name: string): boolean
  /** Throws when `key` has an owner already. */
  register<K extends keyof Dispatched>(kind: K, key: string, owner: Dispatched[K]): void
  owners<K extends keyof Dispatched>(kind: K): ReadonlyMap<string, Dispatched[K]>
  /** Throws when the item has a name that is taken. */
  add<K extends keyof Ordered>(kind: K, item: Ordered[K]): void
  all<K extends keyof Ordered>(kind: K): readonly Ordered[K][]
  readonly extend: Extend
  /** `owned` with every contribution. Throws `ConfigError` for a member of the metadata that is taken. */
  withContributions<K extends keyof Additive>(
    at: K,
    subject: Additive[K],
    owned: Bag,
    call: AdditiveCall[K],
  ): Promise<Bag>
  /** Says that answers of this may have other forms: the path of an endpoint, or `id_token`. */
  represents(of: string): void
  /** For what is opened by its name: throws when that is taken. Who asks while requests are served is its owner. */
  own(kind: OwnedKind, name: string): void
  /** From here on every registration throws: the server has started. Throws for a representation of what nobody answers. */
  close(): void
}

export interface Extend {
  /** The metadata is made once, at the start, which fails when a member is taken. */
  (at: 'metadata', contribute: Contribute<'metadata', string>): void
  /** `members` are those that it may give: throws when one is taken. */
  <K extends Document, const Member extends string>(
    at: K,
    members: readonly Member[],
    contribute: Contribute<K, Member>,
  ): void
}

/** Gets the document as it is so far, to refer to what it holds, and the request that it answers. Undefined: it has nothing to say. */
export type Contribute<K extends keyof Additive, Member extends string> = (
  subject: Additive[K],
  document: Bag,
  call: AdditiveCall[K],
) => MaybePromise<{ readonly [Name in Member]?: AdditiveValue<K> | undefined } | undefined>

/** Who knows at once need not promise: each token request asks all of them. */
type MaybePromise<T> = T | Promise<T>

interface Contribution {
  /** All that it gives, where they are not named. */
  readonly members: readonly string[] | undefined
  readonly contribute: (subject: never, document: Bag, call: never) => MaybePromise<Bag | undefined>
}

/** The refusal of what is registered once the server is ready, or while it becomes so. */
export function tooLate(what: string): ConfigError {
  return new ConfigError(`${what} must be registered before the server is ready.`)
}

export function createDoorRegistry(): DoorRegistry {
  const grants = new Map<string, RegisteredGrant>()
  const dispatched = new Map<keyof Dispatched, Map<string, Dispatched[keyof Dispatched]>>()
  const ordered = new Map<keyof Ordered, Ordered[keyof Ordered][]>()
  const additive = new Map<keyof Additive, Contribution[]>()
  const names = createTakenNames()
  const represented = new Set<string>()
  let closed = false

  const assertOpen = (what: string): void => {
    if (closed) throw tooLate(what)
  }

  function reads({ properties }: TObject): void {
    names.read(Object.keys(properties))
  }

  function extend(at: keyof Additive, ...given: readonly unknown[]): void {
    assertOpen(`A contribution to ${at}`)
    assertDoor('extend', at)
    const contribute = given.at(-1) as Contribution['contribute']
    const members = at === 'metadata' ? undefined : (given[0] as Contribution['members'])
    if (at !== 'metadata' && !Array.isArray(members))
      throw new ConfigError(
        `A contribution to ${at} must name its members: oauth.extend('${at}', ['one'], async () => …).`,
      )
    if (at === 'metadata' && given.length > 1)
      throw new ConfigError(
        `A contribution to ${at} names its members by returning them: oauth.extend('${at}', async () => …).`,
      )
    if (typeof contribute !== 'function') throw new ConfigError(`A contribution to ${at} must be a function.`)
    for (const member of members ?? []) names.take(memberOf(at), member)
    additive.set(at, [...(additive.get(at) ?? []), { members, contribute }])
  }

  return {
    grants,
    credentials: names.credentials,
    reads,
    isRead: names.isRead,
    registerGrant<P extends TObject>(grant: Grant<P>) {
      assertGrant(grant)
      assertOpen(`The grant ${grant.type}`)
      if (grants.has(grant.type)) throw new ConfigError(`The grant ${grant.type} is registered twice.`)
      reads(grant.parameters)
      const parse = compileParameters(grant.parameters)
      const { type, publicClients = false, members = [] } = grant
      for (const member of members) names.share(memberOf('tokenResponse'), member, 'grants')
      grants.set(type, {
        type,
        publicClients,
        async authorize(wire, call) {
          const granted = await grant.authorize(parse(wire), call)
          assertEstablished(type, granted)
          if (isAnswer(granted)) return granted
          return granted.response === undefined
            ? granted
            : { ...granted, response: only(members, granted.response) }
        },
      })
    },
    register(kind, key, owner) {
      assertOpen(`The ${kind} ${key}`)
      assertDoor('register', kind)
      const owners = dispatched.get(kind) ?? new Map<string, Dispatched[keyof Dispatched]>()
      if (owners.has(key)) throw new ConfigError(`The ${kind} ${key} is registered twice.`)
      assertServable(kind, key, owner)
      const credentials = kind === 'clientAuthentication' ? credentialsOf(key, owner) : []
      assertOwner(kind, key, owner)
      for (const name of credentials) names.takeCredential(name)
      dispatched.set(kind, owners.set(key, owner))
    },
    owners: <K extends keyof Dispatched>(kind: K) =>
      (dispatched.get(kind) ?? new Map()) as ReadonlyMap<string, Dispatched[K]>,
    add(kind, item) {
      assertOpen(`A ${kind}`)
      assertDoor('add', kind)
      assertItem(kind, item)
      for (const name of namesOf(item)) names.take(kind, name)
      ordered.set(kind, [...(ordered.get(kind) ?? []), item])
    },
    all: <K extends keyof Ordered>(kind: K) => (ordered.get(kind) ?? []) as unknown as readonly Ordered[K][],
    extend,
    async withContributions(at, subject, owned, call) {
      const contributions = additive.get(at)
      if (contributions === undefined) return owned
      let merged: Record<string, unknown> = owned
      for (const { members, contribute } of contributions) {
        const said = contribute(subject as never, merged, call as never)
        const given: Bag | null | undefined = said instanceof Promise ? await said : said
        if (given === undefined || given === null) continue
        for (const name of members ?? Object.keys(given)) {
          if (!Object.hasOwn(given, name) || given[name] === undefined) continue
          if (merged === owned) merged = { ...owned }
          if (!Object.hasOwn(merged, name)) merged[name] = given[name]
          else if (at === 'metadata') throw new ConfigError(`The ${memberOf(at)} ${name} is taken.`)
        }
      }
      return merged
    },
    assertOpen,
    own(kind, name) {
      if (!closed) names.take(kind, name)
    },
    represents(of) {
      represented.add(of)
    },
    close() {
      closed = true
      for (const { name, of } of (ordered.get('representation') ?? []) as Representation[])
        if (!represented.has(of))
          throw new ConfigError(
            `The representation ${name} is of ${of}, which nothing answers: the nearest is ${findNearest(of, [...represented]).nearest}.`,
          )
    },
  }
}

/** What would never be asked for by its key, or would leave by a way that nobody knows. */
function assertServable(kind: keyof Dispatched, key: string, owner: Dispatched[keyof Dispatched]): void {
  if (kind === 'responseType' && orderedResponseType(key) !== key)
    throw new ConfigError(`The responseType ${key} must be registered as ${orderedResponseType(key)}.`)
  if (kind === 'responseMode' && typeof (owner as Partial<ResponseMode> | undefined)?.inQuery !== 'boolean')
    throw new ConfigError(
      `The responseMode ${key} must say whether its answers are in a query: { inQuery: false, send: (reply, request, answer) => … }.`,
    )
}

/** A method that does not say what carries its proof would leave it to every handler. */
function credentialsOf(method: string, owner: object | undefined): readonly string[] {
  const { credentials } = (owner ?? {}) as Partial<ClientAuthentication>
  if (Array.isArray(credentials)) return credentials
  throw new ConfigError(
    `The clientAuthentication ${method} must name the parameters that carry its proof: credentials: ['client_assertion'], or [] for none.`,
  )
}

/**
 * A parameter is known by its name, and by the one under which it lives on; a step by its own; a sender constraint by its
 * member of `cnf`, and by those of the metadata. A policy has none.
 */
function namesOf(item: Ordered[keyof Ordered]): readonly string[] {
  if (typeof item === 'function') return []
  if ('confirmation' in item) return [item.confirmation, ...Object.keys(item.metadata ?? {})]
  const as = 'kept' in item ? item.kept : undefined
  return typeof as === 'string' && as !== item.name ? [item.name, as] : [item.name]
}

function only(members: readonly string[], given: Bag): Bag {
  return Object.fromEntries(Object.entries(given).filter(([name]) => members.includes(name)))
}
