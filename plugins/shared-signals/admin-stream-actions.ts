/** A verification event that an administrator sends, and the end of a stream, of which a page says before what that ends. */
import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import { SIGNED_IN_AGAIN } from '../admin/notice.ts'
import type { AdminArea } from '../admin/sections.ts'
import type { FormTarget, Notice } from '../pages/models.ts'
import { LIST, ONE, REMOVAL, VERIFICATION } from './admin-places.ts'
import { createGetStream, type StreamPageParts } from './admin-stream.ts'
import { MOST_COUNTED } from './queue.ts'
import { viewOf, type StreamView } from './stream-view.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-stream-removal': StreamRemovalPage
  }
}

/** Asks once more. */
interface StreamRemovalPage {
  notice: Notice | null
  stream: StreamView
  /** What that ends. */
  ends: readonly Words[]
  clientUri: string
  form: FormTarget
  cancelUri: string
}

/** What is answered where nothing was done since it was not the time for it: how the page of the stream says that. */
const NOT_DONE: ReadonlyMap<number, string> = new Map([
  [409, 'changed'],
  [429, 'soon'],
])
const Text = () => Type.Optional(Type.String())

export async function addStreamActions(
  fastify: FastifyInstance,
  area: AdminArea,
  { streams, overview, subjects, operating }: StreamPageParts,
): Promise<void> {
  const { assertGenuine, serve, target, uri } = area
  const get = createGetStream(area, streams)
  const Id = Type.Object({ id: Text() })
  await fastify.pages.add(
    'admin-stream-removal',
    new URL('../../templates/admin-stream-removal.eta', import.meta.url),
  )

  serve({
    path: `/admin${VERIFICATION}`,
    query: Id,
    form: Id,
    show: async ({ id = '' }, { reply }) => reply.redirect(uri(ONE, { id }), 303),
    async submit({ id = '' }, call) {
      assertGenuine(call, VERIFICATION, id)
      await get(id)
      const done = await operating.verify(id).then(
        ({ delivery }) => (delivery.endpointUrl === undefined ? 'waits' : 'sent'),
        (error: unknown) => {
          const why = error instanceof OAuthError ? NOT_DONE.get(error.status) : undefined
          if (why === undefined) throw error
          return why
        },
      )
      return call.reply.redirect(uri(ONE, { id, done }), 303)
    },
  })

  serve({
    path: `/admin${REMOVAL}`,
    query: Type.Object({ id: Text(), again: Text() }),
    form: Id,
    async show({ id = '', again }, call) {
      const kept = await get(id)
      const [[state], removed] = await Promise.all([overview([kept]), subjects.count(id)])
      return call.reply.page('admin-stream-removal', {
        notice: again === undefined ? null : SIGNED_IN_AGAIN,
        stream: await viewOf(fastify, state!, uri(ONE, { id })),
        ends: endsOf(state!.waiting, removed),
        clientUri: uri('/client', { client_id: kept.stream.client }),
        form: target(call, REMOVAL, id),
        cancelUri: uri(ONE, { id }),
      })
    },
    async submit({ id = '' }, call) {
      assertGenuine(call, REMOVAL, id)
      const again = area.signInAgain(call, uri(REMOVAL, { id, again: 'yes' }))
      if (again !== undefined) return again
      // One that is gone by now, such as by its app, is as it was wanted.
      await operating.remove(id).catch((error: unknown) => {
        if (!(error instanceof OAuthError) || error.status !== 404) throw error
      })
      return call.reply.redirect(uri(LIST, { removed: 'yes' }), 303)
    },
  })
}

function endsOf(waiting: number, removed: number): readonly Words[] {
  return [
    ...(waiting === 0
      ? []
      : [
          waiting >= MOST_COUNTED
            ? message('More than 500 events that wait are never told.')
            : message('{count, plural, one {The event that waits is never told.} other {The # events that wait are never told.}}', { count: waiting }),
        ]),
    message('What happens from then on the app does not hear; nor is it told that its stream is gone.'),
    ...(removed === 0
      ? []
      : [message('Whom the app has removed is forgotten: by another stream it hears of them, too.')]),
  ]
} // prettier-ignore
