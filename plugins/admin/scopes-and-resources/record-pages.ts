/** Pages for things of a few members that have a name of their own: a list, a form for new ones, one each, its end. */
import { sentenceOf, type Words, message } from '../../../src/protocol/message.ts'
import type { FastifyReply } from 'fastify'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { Type } from '../../../src/protocol/schema.ts'
import type { Wire } from '../../../src/protocol/wire.ts'
import type { PageCall } from '../../pages/index.ts'
import type { Kernel } from '../../../src/services/kernel.ts'
import { LOOK_AGAIN } from '../../pages/expired-form.ts'
import type { AdminArea } from '../sections.ts'
import { createMadeBefore } from '../made-before.ts'
import { noticeOf, noticeOfEnd } from '../notice.ts'
import { pathsOf, type RecordKind, type Values } from './record-kind.ts'
import { createRecordView, FORM, type RecordView } from './record-view.ts'

const PAGE = 50
const CHANGED_MEANWHILE = message(
  'It was changed meanwhile. Nothing is saved yet: saving now puts what stands here in its place.',
)
const Text = () => Type.Optional(Type.String())

type Add = <Information extends object>(
  area: AdminArea,
  kind: RecordKind<Information>,
  view: RecordView<Information>,
  kernel: Kernel,
) => void

export function addRecordPages<Information extends object>(
  area: AdminArea,
  kernel: Kernel,
  kind: RecordKind<Information>,
): void {
  const view = createRecordView(area, kind)
  for (const add of [addList, addNew, addOne, addEnd]) add(area, kind, view, kernel)
}

const addList: Add = ({ serve, uri }, kind, { idOf }) => {
  const { list, create, one: page } = pathsOf(kind)
  serve({
    path: `/admin${list}`,
    query: Type.Object({ after: Text(), removed: Text() }),
    async show({ after, removed }, { reply }) {
      const found = await kind.list({ after, limit: PAGE + 1 })
      const rows = found.slice(0, PAGE).map((one) => ({
        id: idOf(one),
        href: uri(page, { id: idOf(one) }),
        cells: kind.cellsOf(one),
      }))
      return reply.page('admin-records', {
        heading: kind.words.list,
        lead: kind.words.listLead,
        notice: noticeOfEnd(removed, kind.words.deleted),
        newUri: uri(create),
        newText: kind.words.new,
        columns: kind.columns,
        rows,
        nextUri: found.length > PAGE ? uri(list, { after: rows.at(-1)!.id }) : null,
        firstUri: after === undefined ? null : uri(list),
        section: kind.section.text,
        sectionText: kind.section,
        tabs: kind.tabs.map((tab) => ({ text: tab.text, href: uri(tab.path), current: tab.path === list })),
      })
    },
  })
}

const addNew: Add = (area, kind, { show, attempt, typeOf }, kernel) => {
  const { create, one: page } = pathsOf(kind)
  const before = createMadeBefore(kernel, kind.path.slice(1))
  const signedIn = (call: PageCall): FastifyReply | undefined => {
    const type = typeOf(call.wire)
    return signedInFor(area, kind, call, create, type && { type: type.key })
  }
  area.serve({
    path: `/admin${create}`,
    query: Type.Object({ type: Text() }),
    form: Type.Object({ type: Text() }),
    // Before it is filled in: who has to sign in again comes to an empty form.
    show: async (_query, call) => signedIn(call) ?? show(call, null),
    async submit(_form, call) {
      const administrator = area.assertGenuine(call, create, '')
      const again = signedIn(call)
      if (again !== undefined) return again
      const { values, errors } = await attempt(call.wire, null)
      const isRefused = Object.keys(errors).length > 0
      const isTaken = kind.identifier.name in errors
      if (isRefused && !(isTaken && (await before.isMade(administrator, call.wire))))
        return show(call, null, { values, errors })
      if (!isRefused) await before.note(administrator, call.wire)
      const id = values[kind.identifier.name]!
      return call.reply.redirect(area.uri(page, { id, saved: 'yes' }), 303)
    },
    again: async (_form, call) => show(call, null, { values: typedIn(call.wire), notice: LOOK_AGAIN }),
  })
}

const addOne: Add = (area, kind, { get, show, attempt, isAsTyped, versionOf }) => {
  const { one: page } = pathsOf(kind)
  area.serve({
    path: `/admin${page}`,
    query: Type.Object({ id: Text(), saved: Text(), again: Text() }),
    form: Type.Object({ id: Text(), version: Text() }),
    show: async ({ id = '', ...told }, call) => show(call, await get(id), { notice: noticeOf(told) }),
    async submit({ id = '', version }, call) {
      area.assertGenuine(call, page, id)
      const one = await get(id)
      const saved = () => call.reply.redirect(area.uri(page, { id, saved: 'yes' }), 303)
      if (version !== versionOf(one))
        return (await isAsTyped(call.wire, one))
          ? saved()
          : show(call, one, { values: typedIn(call.wire), errors: { [FORM]: CHANGED_MEANWHILE } })
      const again = signedInFor(area, kind, call, page, { id, again: 'yes' })
      if (again !== undefined) return again
      const { values, errors } = await attempt(call.wire, one)
      return Object.keys(errors).length > 0 ? show(call, one, { values, errors }) : saved()
    },
    async again({ id = '', version }, call) {
      const one = await get(id)
      const values = typedIn(call.wire)
      return version === versionOf(one)
        ? show(call, one, { values, notice: LOOK_AGAIN })
        : show(call, one, { values, errors: { [FORM]: CHANGED_MEANWHILE } })
    },
  })
}

const addEnd: Add = (area, kind, { get, show }) => {
  const { list, one: page, remove } = pathsOf(kind)
  area.serve({
    path: `/admin${remove}`,
    query: Type.Object({ id: Text() }),
    form: Type.Object({ id: Text(), confirm: Text() }),
    show: async ({ id = '' }, { reply }) => reply.redirect(area.uri(page, { id }), 303),
    async submit({ id = '', confirm = '' }, call) {
      area.assertGenuine(call, remove, id)
      const one = await get(id)
      const again = area.signInAgain(call, area.uri(page, { id, again: 'yes' }))
      if (again !== undefined) return again
      if (confirm.trim() !== id) {
        return show(call, one, { deletion: { error: kind.words.notItsName, typed: confirm } })
      }
      const refusal = await refusalOf(kind.delete(id))
      if (refusal !== null) return show(call, one, { deletion: { error: refusal, typed: confirm } })
      return call.reply.redirect(area.uri(list, { removed: 'yes' }), 303)
    },
  })
}

/** Before what a kind asks for a sign-in of a moment ago for: undefined where there was one, or none is asked for. */
function signedInFor(
  area: AdminArea,
  { asksAgain }: Pick<RecordKind<object>, 'asksAgain'>,
  call: PageCall,
  path: string,
  query?: Readonly<Record<string, string>>,
): FastifyReply | undefined {
  return asksAgain === undefined ? undefined : area.signInAgain(call, area.uri(path, query))
}

function typedIn(wire: Wire): Values {
  return Object.fromEntries(Object.entries(wire).map(([name, value]) => [name, String(value)]))
}

/** What stands in the way, as a sentence: the member that it is about is the one that was typed. */
async function refusalOf(work: Promise<unknown>): Promise<Words | null> {
  try {
    await work
    return null
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status !== 400) throw error
    return sentenceOf(error.message.replace(/^\w+ /, 'it '))
  }
}
