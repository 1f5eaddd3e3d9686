/**
 * What profiles make of clients: each is served by what its profiles lock, whatever is registered, and one whose registration
 * contradicts them may do nothing. Those of `OIDC_PROFILE` hold for every client, also for those that were there before.
 */
import { ConfigError } from '../../config.ts'
import type { Choice, Profile } from '../../doors/profile.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Bag } from '../../protocol/bag.ts'
import { metadataError, OAuthError } from '../../protocol/errors.ts'
import { reason, type Message } from '../../protocol/message.ts'

export interface Profiles {
  /** Throws `ConfigError` for one of `OIDC_PROFILE` that no plugin brings. A sentence for each: what it locks. */
  open(): string[]
  /** The metadata by which a client is served that is registered so. */
  served(registered: Bag): Bag
  /** Throws `OAuthError` that names the member, and the profile that it contradicts. */
  assertKept(registered: Bag): void
  /** The same as words; undefined where nothing contradicts. */
  conflictOf(registered: Bag): string | undefined
  /** Whether this one holds a client that is registered so: one of OIDC_PROFILE, or its own. */
  holds(name: string, registered: Bag): boolean
  /** Whether those of the server leave this value of a member to anybody. */
  leaves(member: string, value: string): boolean
  /** Whether who registers itself with some scopes may ask for the others later, too. */
  growsScopes(): boolean
  /** Server metadata, with what no client may use taken out of it. */
  offered(document: Bag): Bag
}

/** The member by which one client has a profile. */
export const PROFILE = 'profile'

/** @internal */
export function createProfiles(doors: DoorRegistry, ofServer: readonly string[]): Profiles {
  function* profilesOf({ [PROFILE]: own }: Bag): Iterable<readonly [string, Profile]> {
    const names = new Set([...ofServer, ...(typeof own === 'string' ? [own] : [])])
    for (const name of names) {
      const profile = doors.owners('profile').get(name)
      if (profile !== undefined) yield [name, profile]
    }
  }

  function assertKept(registered: Bag): void {
    const { [PROFILE]: own } = registered
    const known = doors.owners('profile')
    if (typeof own === 'string' && !known.has(own))
      throw metadataError(PROFILE, reason('must be one of {names}', { names: [...known.keys()] }))
    for (const [name, { locks, choices = {}, check }] of profilesOf(registered)) {
      for (const [member, locked] of Object.entries(locks)) {
        const problem = problemOfLock(name, locked, registered[member])
        if (problem !== undefined) throw metadataError(member, problem)
      }
      for (const [member, choice] of Object.entries(choices)) {
        const problem = problemOfChoice(name, choice, registered[member])
        if (problem !== undefined) throw metadataError(member, problem)
      }
      check?.(registered)
    }
  }

  return {
    open() {
      const missing = ofServer.find((name) => !doors.owners('profile').has(name))
      if (missing !== undefined)
        throw new ConfigError(
          `OIDC_PROFILE names ${missing}, which no plugin serves; those that are served: ${[...doors.owners('profile').keys()].join(', ') || 'none'}.`,
        )
      return [...profilesOf({})].map(
        ([name, { locks, choices = {} }]) =>
          `OIDC_PROFILE ${name} locks of every client ${[...lockWords(locks), ...choiceWords(choices)].join('; ')}.`,
      )
    },
    served(registered) {
      let served = registered
      for (const [, { locks, choices = {}, defaults }] of profilesOf(registered)) {
        const fallbacks = Object.entries(choices).filter(
          ([member, { fallback }]) => fallback !== undefined && served[member] === undefined,
        )
        const given = Object.fromEntries(fallbacks.map(([member, { fallback }]) => [member, fallback]))
        served = { ...defaults?.(served), ...served, ...given, ...within(locks, served) }
      }
      return served
    },
    holds: (name, registered) => [...profilesOf(registered)].some(([one]) => one === name),
    leaves: (member, value) =>
      [...profilesOf({})].every(([, { choices = {} }]) => isAmong(choices[member] ?? {}, value)),
    growsScopes: () => [...profilesOf({})].some(([, { growingScope }]) => growingScope === true),
    assertKept,
    conflictOf(registered) {
      try {
        assertKept(registered)
        return undefined
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error
        return error.message
      }
    },
    offered(document) {
      let offered = document
      for (const [, { locks, choices = {} }] of profilesOf({})) {
        const narrowed = Object.values(choices).flatMap((choice) =>
          (choice.supported ?? [])
            .filter((member) => Array.isArray(offered[member]))
            .map((member) => [member, (offered[member] as string[]).filter((one) => isAmong(choice, one))]),
        )
        const useless = Object.values(choices).flatMap((choice) =>
          Object.entries(choice.serving ?? {}).flatMap(([value, member]) =>
            isAmong(choice, value) ? [] : [member],
          ),
        )
        const told = Object.entries(locks).filter(([member]) => Object.hasOwn(offered, member))
        const kept = Object.entries(offered).filter(([member]) => !useless.includes(member))
        offered = Object.fromEntries([...kept, ...narrowed, ...told])
      }
      return offered
    },
  }
}

/** A number that is registered and less stays. */
function within(locks: Bag, registered: Bag): Bag {
  return Object.fromEntries(
    Object.entries(locks).map(([member, locked]) => {
      const had = registered[member]
      const isLess = typeof locked === 'number' && typeof had === 'number' && had < locked
      return [member, isLess ? had : locked]
    }),
  )
}

function problemOfLock(profile: string, locked: unknown, registered: unknown): Message | undefined {
  if (registered === undefined || registered === locked) return undefined
  if (typeof locked !== 'number')
    return reason('must be {value}: the profile {profile} needs it', { value: String(locked), profile })
  if (typeof registered === 'number' && registered <= locked) return undefined
  return reason('must be {most} at most: the profile {profile} needs it', { most: locked, profile })
}

function isAmong({ among, never = [] }: Choice, value: string): boolean {
  return (among?.includes(value) ?? true) && !never.includes(value)
}

function problemOfChoice(profile: string, choice: Choice, registered: unknown): Message | undefined {
  const { among, never = [], fallback, optional = false } = choice
  if (registered === undefined && (among === undefined || fallback !== undefined || optional))
    return undefined
  const all: readonly unknown[] = [registered].flat()
  if (all.every((one) => typeof one === 'string' && isAmong(choice, one))) return undefined
  return among === undefined
    ? reason('must have none of {names}: the profile {profile} needs it', { names: never, profile })
    : reason('must be one of {names}: the profile {profile} needs it', { names: among, profile })
}

function lockWords(locks: Bag): string[] {
  return Object.entries(locks).map(([member, locked]) =>
    typeof locked === 'number' ? `${member} at most ${locked}` : `${member}=${String(locked)}`,
  )
}

function choiceWords(choices: Readonly<Record<string, Choice>>): string[] {
  return Object.entries(choices).map(([member, { among, never = [] }]) =>
    among === undefined ? `${member} without ${never.join(' or ')}` : `${member} one of ${among.join(', ')}`,
  )
}
