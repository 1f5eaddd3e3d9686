/**
 * SEED_FILE: resources, scopes, clients, users, upstreams and trusted issuers, and what they begin as. A value of the file is applied when it is new
 * there, or has changed there; what is changed or deleted here stays so until then (docs/adr/0031).
 */
import type { FastifyBaseLogger } from 'fastify'
import { NameTaken } from '../../store/name-claims.ts'
import { runAs } from '../audit/origin.ts'
import { createFindUnregistered } from '../clients/scope-names.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import type { FindServerSecret } from '../keys/server-secrets.ts'
import { withoutClashes } from './name-clashes.ts'
import { judgeSeed } from './judge-seed.ts'
import { patient } from './patience.ts'
import { createProgress } from './progress.ts'
import type { BatchOptions } from './seed-batch.ts'
import { seededClients, wantedClients, type SeedClientsOptions } from './seed-clients.ts'
import { withExchanges } from './seed-exchanges.ts'
import { readSeedFile, sectionsOf, type Entry, type Sections, type Source } from './seed-file.ts'
import { createSeedMemory } from './seed-memory.ts'
import { seededResources, seededScopes, wantedResources, wantedScopes } from './seed-records.ts'
import { applySection } from './seed-section.ts'
import { seededTrustedIssuers, wantedTrustedIssuers } from './seed-trusted-issuers.ts'
import { seededUpstreams, wantedUpstreams } from './seed-upstreams.ts'
import { seededUsers, wantedUsers, type SeedUsersOptions } from './seed-users.ts'
import { merged, type SeededKind, type Wanted } from './seeded-kind.ts'

export interface Seeder {
  /** Throws `ConfigError` with one sentence that names the entry, the member and the reason. */
  applyFile(path: string): Promise<void>
  /** What `applyFile` would refuse, a sentence for each entry; applies nothing. Throws `ConfigError` where it cannot be read. */
  judgeFile(path: string): Promise<readonly string[]>
  /** The same as `applyFile` of content that no file holds; a secret of a client works `overlap` seconds beside its successor. */
  apply(content: Entry, overlap: number): Promise<void>
  /** What a plugin of ours needs registered, by the same rule: said while the server starts, and applied before the file is. */
  bring(source: Source, content: Entry): void
  applyBrought(): Promise<void>
  /** What is being applied ends soon, with an `AbortError`: what of it is stored stays, and the next start goes on from there. */
  stop(): void
}

export interface SeederOptions
  extends
    Omit<BatchOptions, 'memory' | 'saying' | 'signal' | 'since' | 'source'>,
    Omit<SeedClientsOptions, 'overlap'>,
    SeedUsersOptions {
  /** The identifier of the default resource. */
  issuer: string
  secret: FindServerSecret
  box: SecretBox
  log: FastifyBaseLogger
  /** Milliseconds after which the app that we are in gives up a start; 0 for never. */
  startLimit: number
}

const TRIES = 8

export function createSeeder(given: SeederOptions): Seeder {
  const { issuer, box, log, startLimit } = given
  const stopping = new AbortController()
  const { signal } = stopping
  const options = { ...given, ...patient(given, log, signal), signal }
  const { database, secret } = options

  async function apply(source: Source, sections: Sections, overlap: number): Promise<void> {
    const key = await secret('seed-file')
    const progress = createProgress(source, log, startLimit)
    const section = async <Row, Made>(kind: SeededKind<Row, Made>, wanted: readonly Wanted[]) =>
      applySection(kind, merged(wanted), progress, {
        ...options,
        source,
        memory: createSeedMemory(database, key, kind.kind),
      })
    const { resources, scopes, clients, exchanges, users, upstreams, trusted_issuers } = sections
    // All is read before anything is written: a mistake at the end of the file leaves nothing of its beginning.
    const wanted = {
      resources: wantedResources(resources, log),
      scopes: wantedScopes(resources, scopes, log),
      clients: wantedClients(withExchanges(clients, exchanges), options),
      users: wantedUsers(users, log),
      upstreams: wantedUpstreams(upstreams, options),
      trustedIssuers: wantedTrustedIssuers(trusted_issuers, options),
    }
    await section(seededResources(database, issuer), wanted.resources)
    await judgedAgain(async () => {
      const possible = await withoutClashes(wanted.scopes, wanted.clients, { ...options, source })
      await section(seededScopes(database), possible.scopes)
      await section(seededClients({ ...options, overlap }), possible.clients)
    })
    await section(seededUsers(options), wanted.users)
    await section(seededUpstreams(database, box), wanted.upstreams)
    await section(seededTrustedIssuers(database), wanted.trustedIssuers)
    progress.end()
    await warnOfScopes(source, wanted.clients)
  }

  /** When all of the file is there, since a client's name in a scope list is a right to introspect. */
  async function warnOfScopes(source: Source, clients: readonly Wanted[]): Promise<void> {
    const named = clients.flatMap(({ members }) => (members['scope'] as string[] | null | undefined) ?? [])
    const unregistered = await createFindUnregistered(database)(named)
    if (unregistered.length === 0) return
    const details = { count: unregistered.length, first: unregistered.slice(0, 20) }
    log.warn(
      details,
      `${source}: no scope is registered under these names of clients: they are granted as they are`,
    )
  }

  const brought: [Source, Entry][] = []
  const asSeed = async (id: string | null, work: () => Promise<void>) => runAs({ kind: 'seed', id }, work)
  return {
    applyFile: async (path) => asSeed(null, async () => apply('SEED_FILE', await readSeedFile(path, log), 0)),
    stop: () => stopping.abort(),
    judgeFile: async (path) => judgeSeed(await readSeedFile(path, log), given),
    apply: async (content, overlap) =>
      asSeed('demo', async () => apply('The demo', sectionsOf(content, 'The demo', log), overlap)),
    bring: (source, content) => void brought.push([source, content]),
    async applyBrought() {
      for (const [source, content] of brought)
        await runAs({ kind: 'setting', id: source }, async () =>
          apply(source, sectionsOf(content, source, log), 0),
        )
    },
  }
}

/** Once more where a name was taken meanwhile: what is applied stays, and who has the name is seen then. */
async function judgedAgain(work: () => Promise<void>): Promise<void> {
  for (let tried = 1; ; tried++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof NameTaken) || tried >= TRIES) throw error
    }
  }
}
