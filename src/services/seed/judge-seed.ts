/** What a start would refuse of SEED_FILE, entry by entry, found without applying any. */
import { ConfigError } from '../../config.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { seededClients, wantedClients, type SeedClientsOptions } from './seed-clients.ts'
import { withExchanges } from './seed-exchanges.ts'
import { explained, type Placed, type Sections } from './seed-file.ts'
import { partsOf } from './seed-memory.ts'
import { seededResources, wantedResources, wantedScopes } from './seed-records.ts'
import { seededTrustedIssuers, wantedTrustedIssuers } from './seed-trusted-issuers.ts'
import { seededUpstreams, wantedUpstreams } from './seed-upstreams.ts'
import { seededUsers, wantedUsers, type SeedUsersOptions } from './seed-users.ts'
import { merged, type SeededKind, type Wanted } from './seeded-kind.ts'

export interface JudgeOptions extends Omit<SeedClientsOptions, 'overlap'>, SeedUsersOptions {
  /** The identifier of the default resource. */
  issuer: string
  box: SecretBox
}

type Read = (entries: readonly Placed[]) => readonly Wanted[]

/** Names that one query asks for. */
const AT_ONCE = 1000

/**
 * A sentence for each. Passwords, the places of scopes, and what becomes of things that are there already, are judged when the file is
 * applied.
 */
export async function judgeSeed(sections: Sections, options: JudgeOptions): Promise<readonly string[]> {
  const { database, issuer, box, log } = options
  const { resources, scopes, clients, exchanges, users, upstreams, trusted_issuers } = sections
  const refused: string[] = []

  async function isGood(place: string, judge: () => unknown): Promise<boolean> {
    try {
      await judge()
      return true
    } catch (error) {
      const told = explained(place, error)
      if (!(told instanceof ConfigError)) throw told
      refused.push(told.message)
      return false
    }
  }

  /** What is read of those that can be read each by itself. */
  async function readEach(entries: readonly Placed[], read: Read): Promise<readonly Wanted[]> {
    const wanted: Wanted[] = []
    for (const one of entries) await isGood(one.place, () => wanted.push(...read([one])))
    return wanted
  }

  /** Of what is new: as it would be stored. What a secret is hashed to is not asked, only that there is one. */
  async function judge<Row, Made>(kind: SeededKind<Row, Made>, wanted: readonly Wanted[]): Promise<void> {
    for (const part of partsOf(merged(wanted), AT_ONCE)) {
      const found = await kind.present(part.map(({ key }) => key))
      const present = new Set(found.map(({ key }) => key))
      for (const one of part.filter(({ key }) => !present.has(key))) {
        const change = { wanted: one, row: undefined, members: one.members, hash: '' }
        await isGood(one.place, async () => (kind.check ? kind.check(change) : kind.make(change)))
      }
    }
  }

  const places = await readEach(resources, (some) => wantedResources(some, log))
  // No name is that of two.
  if (places.length === resources.length)
    await isGood('', () => wantedResources(resources, log.child({}, { level: 'silent' })))
  await judge(seededResources(database, issuer), places)
  await readEach(resources, (some) => wantedScopes(some, [], log))
  await readEach(scopes, (some) => wantedScopes([], some, log))
  const rules: Placed[] = []
  for (const one of exchanges)
    if (await isGood(one.place, () => withExchanges(clients, [one]))) rules.push(one)
  await judge(
    seededClients({ ...options, overlap: 0 }),
    await readEach(withExchanges(clients, rules), (some) => wantedClients(some, options)),
  )
  await judge(seededUsers(options), await readEach(users, (some) => wantedUsers(some, log)))
  await judge(
    seededUpstreams(database, box),
    await readEach(upstreams, (some) => wantedUpstreams(some, options)),
  )
  await judge(
    seededTrustedIssuers(database),
    await readEach(trusted_issuers, (some) => wantedTrustedIssuers(some, options)),
  )
  return refused
}
