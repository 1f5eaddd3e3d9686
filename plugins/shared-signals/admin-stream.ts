/**
 * `/admin/shared-signals/stream`: one stream, what became of the last attempts, and of whom it hears; with a form that holds it, or lets it go. What else
 * is done to it is in `admin-stream-actions.ts`.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { FieldView } from '../admin/models.ts'
import { NotThere } from '../admin/not-there.ts'
import { SIGNED_IN_AGAIN } from '../admin/notice.ts'
import type { AdminArea } from '../admin/sections.ts'
import { LOOK_AGAIN } from '../pages/expired-form.ts'
import type { PageCall } from '../pages/index.ts'
import type { FormTarget, Notice } from '../pages/models.ts'
import { LIST, ONE, REMOVAL, SECTION, VERIFICATION } from './admin-places.ts'
import { createSubjectList, type SubjectList, type Wanted } from './admin-subjects.ts'
import { wordsOfFailure } from './failure-words.ts'
import { OPERATED, type Operating } from './operating.ts'
import type { Overview, StreamState } from './overview.ts'
import { MOST_REASON, STATUSES, type Status } from './stream.ts'
import { dateOf, viewOf, type StreamView } from './stream-view.ts'
import type { KeptStream, Streams } from './streams.ts'
import type { Subjects } from './subjects.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-stream': StreamPage
  }
}

interface StreamPage {
  notice: Notice | null
  stream: StreamView
  listUri: string
  clientUri: string
  auditUri: string
  deliveriesUri: string
  /** Its app's own words; null for none. */
  description: string | null
  /** Whether its receiver gets a header by which it lets events in. */
  hasHeader: boolean
  /** When it is tried again, where it fails; null where it is tried as any. */
  restsUntil: Date | null
  /** Deliveries were given up. */
  givenUp: boolean
  /** The latest first. */
  outcomes: readonly { at: Date; milliseconds: number; done: boolean; text: string; why: Words | null }[]
  /** Holds it, or lets it go. */
  change: FormTarget & { to: (typeof OPERATED)[number]; reason: FieldView }
  /** Null where nothing is sent to it. */
  verification: FormTarget | null
  removalUri: string
  subjects: SubjectList
}

const DONE: Readonly<Record<string, Notice>> = {
  paused: {
    kind: 'success',
    text: message('What happens is held for a week from now on. The app is told, and may enable its stream itself.'),
  },
  enabled: { kind: 'success', text: message('What waited is sent. The app is told that its stream is enabled.') },
  sent: {
    kind: 'success',
    text: message('A verification event is on its way. Open this page again in a moment: the last attempts say whether it was taken.'),
  },
  waits: { kind: 'success', text: message('A verification event waits until the app asks for its events.') },
  soon: {
    kind: 'notice',
    text: message('Nothing was sent: the last verification event is less than ten seconds old. Try again in a moment.'),
  },
  changed: {
    kind: 'notice',
    text: message('Nothing was done: the stream or its client has changed meanwhile. This is how it is now.'),
  },
  again: SIGNED_IN_AGAIN,
} // prettier-ignore

const TOO_LONG = message('This must have {most, number} characters at most.', { most: MOST_REASON })
const Text = () => Type.Optional(Type.String())

export interface StreamPageParts {
  readonly streams: Streams
  readonly overview: Overview
  readonly subjects: Subjects
  readonly operating: Operating
}

interface Shown extends Wanted {
  readonly notice?: Notice | null
  readonly typed?: string | undefined
  readonly error?: Words
}

/** Throws `NotThere` for an id of none. */
export type GetStream = (id: string) => Promise<KeptStream>

export function createGetStream({ uri }: AdminArea, streams: Streams): GetStream {
  return async (id) => {
    const kept = await streams.findKept(id)
    if (kept !== null) return kept
    throw new NotThere('no stream has this id', {
      section: SECTION.text,
      title: message('There is no such stream'),
      listUri: uri(LIST),
      listText: SECTION,
    })
  }
}

export async function addStreamPage(
  fastify: FastifyInstance,
  area: AdminArea,
  { streams, overview, subjects, operating }: StreamPageParts,
): Promise<void> {
  const { serve, target, uri } = area
  const get = createGetStream(area, streams)
  const subjectsOf = createSubjectList(fastify, area, subjects)
  await fastify.pages.add('admin-stream', new URL('../../templates/admin-stream.eta', import.meta.url))

  async function show(call: PageCall, kept: KeptStream, shown: Shown): Promise<FastifyReply> {
    const { stream } = kept
    const { id, client, status, delivery } = stream
    const [[state], list] = await Promise.all([overview([kept]), subjectsOf(stream, shown)])
    const model: StreamPage = {
      notice: shown.notice ?? null,
      stream: await viewOf(fastify, state!, uri(ONE, { id })),
      listUri: uri(LIST),
      clientUri: uri('/client', { client_id: client }),
      auditUri: uri('/audit', { client_id: client }),
      deliveriesUri: uri('/deliveries'),
      description: stream.description ?? null,
      hasHeader: delivery.authorizationHeader !== undefined,
      ...attemptsOf(state!),
      change: {
        ...target(call, ONE, id),
        to: status === 'enabled' ? 'paused' : 'enabled',
        reason: reasonField(shown),
      },
      verification: status === 'enabled' && !kept.isAsleep ? target(call, VERIFICATION, id) : null,
      removalUri: uri(REMOVAL, { id }),
      subjects: list,
    }
    return call.reply.page('admin-stream', model, { status: shown.error === undefined ? 200 : 400 })
  }

  serve({
    path: `/admin${ONE}`,
    query: Type.Object({ id: Text(), search: Text(), after: Text(), done: Text() }),
    form: Type.Object({ id: Text(), status: Text(), from: Text(), reason: Text() }),
    async show({ id = '', done = '', ...wanted }, call) {
      return show(call, await get(id), { ...wanted, notice: Object.hasOwn(DONE, done) ? DONE[done]! : null })
    },
    async submit({ id = '', status, from, reason: typed = '' }, call) {
      area.assertGenuine(call, ONE, id)
      const kept = await get(id)
      const to = OPERATED.find((one) => one === status)
      if (to === undefined) throw new OAuthError('invalid_request', 'a stream is made enabled or paused')
      const again = area.signInAgain(call, uri(ONE, { id, done: 'again' }))
      if (again !== undefined) return again
      const reason = typed.trim()
      if (reason.length > MOST_REASON) return show(call, kept, { typed, error: TOO_LONG })
      const done = await become(id, { status: to, reason, from: STATUSES.find((one) => one === from) })
      return call.reply.redirect(uri(ONE, { id, done }), 303)
    },
    again: async ({ id = '', reason }, call) => show(call, await get(id), { typed: reason, notice: LOOK_AGAIN }),
  }) // prettier-ignore

  /** What was done. */
  async function become(
    id: string,
    { status, reason, from }: { status: (typeof OPERATED)[number]; reason: string; from: Status | undefined },
  ): Promise<string> {
    try {
      await operating.setStatus(id, { status, from, ...(reason === '' ? {} : { reason }) })
      return status
    } catch (error) {
      // By its app, or since its client has lost its scopes.
      if (!(error instanceof OAuthError) || error.status !== 409) throw error
      return 'changed'
    }
  }
}

function reasonField({ typed = '', error }: Shown): FieldView {
  return {
    name: 'reason',
    label: message('What the app is told of it'),
    hint: message('The reason, in a few words. It may be left empty.'),
    kind: 'prose',
    autocomplete: 'off',
    value: typed,
    error: error ?? null,
    options: [],
  }
}

function attemptsOf({ restsUntil, givenUp, outcomes }: StreamState): Pick<StreamPage, 'restsUntil' | 'givenUp' | 'outcomes'> {
  return {
    restsUntil: dateOf(restsUntil),
    givenUp: givenUp > 0,
    outcomes: outcomes.map(({ at, milliseconds, done, text }) => ({
      at: new Date(at),
      milliseconds,
      done,
      text,
      why: done ? null : wordsOfFailure(text),
    })),
  }
} // prettier-ignore
