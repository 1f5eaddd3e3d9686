/** A list that people read page by page, in the order of its names or of what a search finds; rows are for others to show. */
import type { Static } from 'typebox'
import type { Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { Page, Place } from '../../src/store/begins-with.ts'
import type { OwnArea } from './area.ts'
import type { SearchedList } from './models.ts'
import { noticeOfEnd } from './notice.ts'

/** Things on one page. */
const PAGE = 50
const Text = () => Type.Optional(Type.String())

/** `at` and `after` are where the page begins; without a search, `after` alone. `removed` is there when one was deleted just now. */
export const ListQuery = Type.Object({ search: Text(), at: Text(), after: Text(), removed: Text() })

export interface Listed<Thing> {
  /** Below `/admin`: the list's own address, and that of the form for one more. */
  readonly path: string
  readonly newPath: string
  list(after: string, limit: number): Promise<readonly Thing[]>
  search(text: string, options: { after: Place; limit: number }): Promise<Page<Thing>>
  /** That one was deleted. */
  readonly deleted: Words
  /** What `list` goes on behind. */
  nameOf(one: Thing): string
}

/** The page that was asked for: what is on it, and the ways from it. */
export async function readList<Thing>(
  { uri }: OwnArea,
  { path, newPath, list, search: find, deleted, nameOf }: Listed<Thing>,
  { search: typed = '', at = '', after, removed }: Static<typeof ListQuery>,
): Promise<{ found: readonly Thing[]; page: Omit<SearchedList, 'behind'> }> {
  const search = typed.trim()

  async function listed(): Promise<readonly [readonly Thing[], Record<string, string> | null]> {
    if (search !== '') {
      const { found, next } = await find(search, { after: { at, id: after ?? '' }, limit: PAGE })
      return [found, next && { search, at: next.at, after: next.id }]
    }
    const more = await list(after ?? '', PAGE + 1)
    const found = more.slice(0, PAGE)
    return [found, more.length > PAGE ? { after: nameOf(found.at(-1)!) } : null]
  }

  const [found, next] = await listed()
  const page = {
    notice: noticeOfEnd(removed, deleted),
    newUri: uri(newPath),
    searchUri: uri(path),
    search,
    nextUri: next && uri(path, next),
    firstUri: after === undefined ? null : uri(path, search === '' ? undefined : { search }),
    allUri: search === '' ? null : uri(path),
  }
  return { found, page }
}
