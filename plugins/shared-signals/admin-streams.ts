/** `/admin/shared-signals`: whose streams there are, where their events go, and how many wait. */
import type { FastifyInstance } from 'fastify'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { Paged } from '../admin/models.ts'
import { noticeOfEnd } from '../admin/notice.ts'
import type { AdminArea } from '../admin/sections.ts'
import type { Notice } from '../pages/models.ts'
import { LIST, ONE } from './admin-places.ts'
import type { Overview } from './overview.ts'
import { viewOf, type StreamView } from './stream-view.ts'
import type { Streams } from './streams.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-streams': StreamsPage
  }
}

interface StreamsPage extends Paged {
  /** One was removed just now; null for nothing. */
  notice: Notice | null
  searchUri: string
  /** What was searched for; `''` for nothing. */
  search: string
  /** Away from a search; null where nothing is searched for. */
  allUri: string | null
  rows: readonly StreamView[]
}

/** Streams on one page. */
const PAGE = 50
const Text = () => Type.Optional(Type.String())

export interface StreamListParts {
  readonly streams: Streams
  readonly overview: Overview
}

export async function addStreamList(
  fastify: FastifyInstance,
  { serve, uri }: AdminArea,
  { streams, overview }: StreamListParts,
): Promise<void> {
  await fastify.pages.add('admin-streams', new URL('../../templates/admin-streams.eta', import.meta.url))

  serve({
    path: `/admin${LIST}`,
    query: Type.Object({ search: Text(), after: Text(), removed: Text() }),
    async show({ search: typed = '', after = '', removed }, call) {
      const search = typed.trim()
      const all = await streams.listKept()
      const found = all.filter(({ stream: { client } }) => client > after && client.startsWith(search))
      const rows = (await overview(found.slice(0, PAGE))).map(async (state) =>
        viewOf(fastify, state, uri(ONE, { id: state.stream.id })),
      )
      const searched = search === '' ? {} : { search }
      return call.reply.page('admin-streams', {
        notice: noticeOfEnd(removed, message('The stream is removed.')),
        searchUri: uri(LIST),
        search,
        allUri: search === '' ? null : uri(LIST),
        rows: await Promise.all(rows),
        nextUri:
          found.length > PAGE ? uri(LIST, { ...searched, after: found[PAGE - 1]!.stream.client }) : null,
        firstUri: after === '' ? null : uri(LIST, searched),
      })
    },
  })
}
