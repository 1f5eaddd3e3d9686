/** All that is kept of a user, for themselves to have: what they are told on their account, and what plugins say of what they keep. */
import type { Bag } from '../../protocol/bag.ts'
import type { ArtifactStore } from '../artifact-store.ts'
import type { Consents } from './consents.ts'
import type { Sessions } from './sessions.ts'
import type { UserFinder } from './user-finder.ts'
import type { UserRecordKeeper } from './user-records.ts'

export interface UserExport {
  /** As JSON, by wire names; nothing in it is a secret. Throws when there is no user of this id. */
  export(id: string): Promise<Bag>
}

interface Sources {
  readonly registry: Pick<UserFinder, 'get'>
  readonly records: Pick<UserRecordKeeper, 'describeRecords'>
  readonly artifacts: Pick<ArtifactStore, 'describeArtifacts'>
  readonly sessions: Pick<Sessions, 'list'>
  readonly consents: Pick<Consents, 'list'>
}

/** Apps on one page. */
const PAGE = 100

/** @internal */
export function createUserExport({ registry, records, artifacts, sessions, consents }: Sources): UserExport {
  async function appsOf(id: string): Promise<Bag[]> {
    const apps: Bag[] = []
    let [page, after]: [Awaited<ReturnType<Consents['list']>>, string] = [[], '']
    do {
      page = await consents.list(id, { after, limit: PAGE })
      after = page.at(-1)?.clientId ?? after
      for (const { clientId, scopes, resources, lines, since, usedAt } of page)
        apps.push({ client_id: clientId, scopes, resources, lines, since: at(since), used: at(usedAt) })
    } while (page.length === PAGE)
    return apps
  }

  return {
    async export(id) {
      const { username, roles, claims, disabled } = await registry.get(id)
      const signedIn = (await sessions.list(id)).map(({ sid, userAgent, address, createdAt, pending }) => ({
        sid,
        user_agent: userAgent,
        address,
        since: at(createdAt),
        pending,
      }))
      return {
        sub: id,
        username,
        roles,
        ...claims,
        disabled,
        sessions: signedIn,
        apps: await appsOf(id),
        records: await records.describeRecords(id),
        artifacts: await artifacts.describeArtifacts(id),
      }
    },
  }
}

function at(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
