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

/** @internal */
export interface OwnUserExport extends UserExport {
  /** The same without the apps, and the apps by the page: of somebody with thousands, a hundred at once. Throws as `export`. */
  exportByPage(id: string): Promise<{ readonly head: Bag; readonly apps: AsyncIterable<readonly Bag[]> }>
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
export function createUserExport({
  registry,
  records,
  artifacts,
  sessions,
  consents,
}: Sources): OwnUserExport {
  async function* appsOf(id: string): AsyncGenerator<Bag[]> {
    for (let after: string | undefined = ''; after !== undefined;) {
      const page: Awaited<ReturnType<Consents['list']>> = await consents.list(id, { after, limit: PAGE })
      yield page.map(({ clientId, scopes, resources, lines, since, usedAt }) => {
        const texts = lines.map(({ text }) => text)
        return { client_id: clientId, scopes, resources, lines: texts, since: at(since), used: at(usedAt) }
      })
      after = page.length === PAGE ? page.at(-1)?.clientId : undefined
    }
  }

  async function headOf(id: string): Promise<Bag> {
    const { username, roles, claims, disabled, deletesAt } = await registry.get(id)
    const signedIn = (await sessions.list(id)).map(
      ({ sid, userAgent, address, createdAt, clients, pending }) => ({
        sid,
        user_agent: userAgent,
        address,
        since: at(createdAt),
        clients,
        pending,
      }),
    )
    return {
      sub: id,
      username,
      roles,
      ...claims,
      disabled,
      ...(deletesAt === null ? {} : { deletes_at: at(deletesAt) }),
      sessions: signedIn,
      records: await records.describeRecords(id),
      artifacts: await artifacts.describeArtifacts(id),
    }
  }

  return {
    async export(id) {
      const head = await headOf(id)
      const apps: Bag[] = []
      for await (const page of appsOf(id)) apps.push(...page)
      return { ...head, apps }
    },
    exportByPage: async (id) => ({ head: await headOf(id), apps: appsOf(id) }),
  }
}

function at(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
