/** On the page of a stream: of whom it hears, and whom its app has removed, a page at a time. */
import type { FastifyInstance } from 'fastify'
import type { User } from '../../src/doors/user.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import type { Paged } from '../admin/models.ts'
import type { AdminArea } from '../admin/sections.ts'
import { ONE } from './admin-places.ts'
import type { Stream } from './stream.ts'
import { MOST_COUNTED, type Subjects } from './subjects.ts'

export interface SubjectList extends Paged {
  count: Words
  searchUri: string
  /** Who was searched for; `''` for nobody. */
  search: string
  /** Away from a search; null where nobody is searched for. */
  allUri: string | null
  /** With the user name of who is one of ours by that subject; null for nobody. */
  rows: readonly { subject: string; username: string | null; userUri: string | null }[]
}

export interface Wanted {
  readonly search?: string | undefined
  readonly after?: string | undefined
}

/** Subjects on one page. */
const PAGE = 50

export function createSubjectList(
  { oauth }: FastifyInstance,
  { uri, userUri }: AdminArea,
  subjects: Subjects,
): (stream: Stream, wanted: Wanted) => Promise<SubjectList> {
  async function rowOf(subject: string, stream: Stream): Promise<SubjectList['rows'][number]> {
    const user = await knownAs(subject, stream)
    if (user === null) return { subject, username: null, userUri: null }
    return { subject, username: user.username, userUri: userUri(user.id) }
  }

  /** Null where the client knows people by other names than we do. */
  async function knownAs(subject: string, { client: clientId }: Stream): Promise<User | null> {
    const [user, client] = [await oauth.findUser(subject), await oauth.findClient(clientId)]
    return user !== null && client !== null && oauth.subjectOf(user.id, client) === subject ? user : null
  }

  return async (stream, { search: typed = '', after = '' }) => {
    const search = typed.trim()
    const [count, more] = await Promise.all([
      subjects.count(stream.id),
      search === '' ? subjects.list(stream.id, { after, limit: PAGE + 1 }) : subjects.search(stream, search),
    ])
    const found = more.slice(0, PAGE)
    const own = { id: stream.id }
    return {
      count: wordsOf(count),
      searchUri: uri(ONE),
      search,
      allUri: search === '' ? null : uri(ONE, own),
      rows: await Promise.all(found.map(async (subject) => rowOf(subject, stream))),
      nextUri: more.length > PAGE ? uri(ONE, { ...own, after: found.at(-1)! }) : null,
      firstUri: search !== '' || after === '' ? null : uri(ONE, own),
    }
  }
}

function wordsOf(count: number): Words {
  if (count >= MOST_COUNTED) return message('Everybody who uses the app, but more than 500 whom it has removed.')
  return message('{count, plural, =0 {Everybody who uses the app.} one {Everybody who uses the app, but one whom it has removed.} other {Everybody who uses the app, but # whom it has removed.}}', { count })
} // prettier-ignore
