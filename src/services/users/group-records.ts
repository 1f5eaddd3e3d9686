/**
 * Groups as they are stored: records under their ids, each with its role as its key. What takes its time is a record beside, which holds
 * the role that goes, so that nobody else makes one of that name meanwhile.
 */
import type { Actor } from '../../events.ts'
import type { PluginRecordRow } from '../../store/plugin-records.ts'
import { formerRoleNamed } from './group-names.ts'

/** Kinds of records. */
export const GROUP = 'scim-group'
export const WORK = 'scim-group-work'
/** Apart, since a process of an earlier version would take all of such work for the end of the group. */
export const EMPTYING = 'scim-group-emptying'
/** Groups, and so much work, that there may be. */
export const MOST = 10_000

export interface Group {
  readonly id: string
  readonly displayName: string
  /** What its members have among their roles. */
  readonly role: string
  /** What some of them have in its place still, while it is renamed; null where it is not. */
  readonly former: string | null
  /** It is being deleted: members lose the role, and nobody else gets it. */
  readonly isEnding: boolean
  /** By what clients know it, by their client_id; for `externalIdOf`, since one may be of a former client of that id. */
  readonly externalIds: Readonly<Record<string, string>>
  /** When clients that know it, or made it, were registered, by their client_id; absent for those of before that was kept. */
  readonly keepers: Readonly<Record<string, number>>
  /** For compare-and-set. */
  readonly revision: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
}

/** A client, and when it was registered: another one of the same id is another one. */
export interface Keeper {
  readonly clientId: string
  readonly registeredAt: number
}

export interface StoredGroup {
  readonly displayName: string
  readonly externalIds: Readonly<Record<string, string>>
  /** Absent where it is what was made of the name before commas were refused. */
  readonly role?: string
  readonly former?: string
  readonly isEnding?: true
  readonly keepers?: Readonly<Record<string, number>>
}

/** What is done to a role in parts, and who wants it. */
export interface Work {
  readonly from: string
  /** Null where it is taken away. */
  readonly to: string | null
  readonly actor: Actor
}

/** Of a role that is taken from all but some, and who wants it. */
export interface Emptying {
  readonly from: string
  /** Ids of users. */
  readonly keeps: readonly string[]
  readonly actor: Actor
}

export function toGroup({ id, value, revision, createdAt, updatedAt }: PluginRecordRow): Group {
  const stored = value as unknown as StoredGroup
  return {
    id,
    displayName: stored.displayName,
    role: stored.role ?? formerRoleNamed(stored.displayName),
    former: stored.former ?? null,
    isEnding: stored.isEnding ?? false,
    externalIds: stored.externalIds,
    keepers: stored.keepers ?? {},
    revision,
    createdAt: createdAt.getTime(),
    updatedAt: updatedAt.getTime(),
  }
}

export function toStored({ displayName, role, former, isEnding, externalIds, keepers }: Group): string {
  const stored: StoredGroup = {
    displayName,
    externalIds,
    role,
    keepers,
    ...(former === null ? {} : { former }),
    ...(isEnding ? { isEnding } : {}),
  }
  return JSON.stringify(stored)
}

/** Roles of which each member has one. */
export function rolesOf({ role, former }: Pick<Group, 'role' | 'former'>): readonly string[] {
  return former === null ? [role] : [role, former]
}

/** Whether it is this client that knows it or made it, and not a former one of its id. */
export function isKeptBy(
  { externalIds, keepers, updatedAt }: Pick<Group, 'externalIds' | 'keepers' | 'updatedAt'>,
  { clientId, registeredAt }: Keeper,
): boolean {
  // One may be called `constructor`.
  if (Object.hasOwn(keepers, clientId)) return keepers[clientId] === registeredAt
  return Object.hasOwn(externalIds, clientId) && updatedAt >= registeredAt
}

/** By what the client knows it; null for nothing. */
export function externalIdOf(
  group: Pick<Group, 'externalIds' | 'keepers' | 'updatedAt'>,
  client: Keeper,
): string | null {
  const { externalIds } = group
  const isKnown = Object.hasOwn(externalIds, client.clientId) && isKeptBy(group, client)
  return isKnown ? externalIds[client.clientId]! : null
}

/** The group as the client knows it from then on; null for by nothing. */
export function knownBy(
  { externalIds, keepers }: Group,
  { clientId, registeredAt }: Keeper,
  externalId: string | null,
): Pick<Group, 'externalIds' | 'keepers'> {
  const { [clientId]: _former, ...others } = externalIds
  return {
    externalIds: externalId === null ? others : { ...others, [clientId]: externalId },
    keepers: { ...keepers, [clientId]: registeredAt },
  }
}

/** What the audit log is told of it, as the client sees it. */
export function told(group: Group, client: Keeper | null) {
  return {
    name: group.role,
    ...(group.displayName === group.role ? {} : { display_name: group.displayName }),
    ...(client === null ? {} : { external_id: externalIdOf(group, client) }),
  }
}
