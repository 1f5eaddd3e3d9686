/**
 * What asks every server of a distributed database, and why it has to: none of it is on a token's way from a client and back. Plans
 * say that this is all, and no more than that (tests/store/distribution.test.ts).
 */

/** The statements, by what asks for them. */
export const EVERYWHERE = {
  /** People look at what they have approved, a page at a time. */
  lists: [
    'authorizations-of-user',
    'authorizations-of-client',
    'authorizations-of-clients',
    'authorizations-of-session',
    'consents-connected',
  ],
  /** All that a user, a session or a consent gave ends. */
  endings: [
    'authorization-codes-end',
    'authorization-codes-end-one',
    'authorization-codes-end-others',
    'authorizations-end',
    'authorizations-end-one',
    'authorizations-end-others',
    'consent-codes-delete',
    'consent-authorizations-revoke',
  ],
  /** The janitor looks for what is dead. */
  janitor: [
    'access-tokens-expired',
    'authorization-codes-expired',
    'authorizations-due',
    'authorizations-keep',
    'authorizations-remove',
    'authorization-codes-remove',
    'refresh-tokens-remove',
    'registration-holds-tokens',
  ],
} as const

export type AskedBy = keyof typeof EVERYWHERE

/** By the statement's name. */
export const ASKED_BY: ReadonlyMap<string, AskedBy> = new Map(
  (Object.keys(EVERYWHERE) as AskedBy[]).flatMap((by) => EVERYWHERE[by].map((name) => [name, by] as const)),
)

/** Pages that show such a list, below the base path, and whose they are. */
const PAGES = [
  ['/account', 'latchkey-account'],
  ['/account/apps', 'latchkey-account'],
  ['/account/data/download', 'latchkey-own-data'],
  ['/admin/user', 'latchkey-admin'],
  ['/admin/client/authorizations', 'latchkey-admin'],
] as const

/** Those of a server without these plugins. */
export function pagesEverywhere(without: readonly string[] = []): string[] {
  return PAGES.flatMap(([page, plugin]) => (without.includes(plugin) ? [] : page))
}
