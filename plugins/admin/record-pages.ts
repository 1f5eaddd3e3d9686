/** Pages for things of a few members that have a name of their own: a list, a form for new ones, one each, its end. */
import type { FastifyReply } from 'fastify'
import { hash } from 'node:crypto'
import { Type } from 'typebox'
import { OAuthError } from '../../src/protocol/errors.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { PageCall } from '../pages/index.ts'
import { sentence } from '../pages/words.ts'
import type { Desk } from './desk.ts'
import type { FieldView, RecordPage } from './models.ts'

/** What stands in the fields, by their names. */
export type Values = Readonly<Record<string, string>>
export type RecordField = Omit<FieldView, 'value' | 'error'>
type Errors = Readonly<Record<string, string>>

export interface RecordKind<Information extends object> {
  /** Such as `/scope`: its page; the list is at the same with an s. */
  readonly path: `/${string}`
  readonly words: Pick<RecordPage, 'lead' | 'endings'> & { list: string; new: string; one: string; listLead: string }
  /** Titles of the list's columns: the identifier's, and one for each of `cellsOf`. */
  readonly columns: readonly string[]
  /** The member that identifies it: the first field of a new one, and fixed from then on. */
  readonly identifier: RecordField & { name: keyof Information & string }
  fields(): Promise<readonly RecordField[]>
  cellsOf(one: Information): readonly string[]
  /** What it has, as it would be typed. */
  valuesOf(one: Information): Values
  list(options: { after?: string | undefined; limit: number }): Promise<Information[]>
  find(id: string): Promise<Information | null>
  save(values: Values, options: { isNew: boolean }): Promise<void>
  delete(id: string): Promise<boolean>
  /** More of it, that is not edited here. */
  related(one: Information): Promise<RecordPage['related']>
} // prettier-ignore

const PAGE = 50
const TABS = [
  { text: 'Scopes', path: '/scopes' },
  { text: 'Resources', path: '/resources' },
]
const FORM = ''
const CHANGED_MEANWHILE =
  'It was changed meanwhile. Nothing is saved yet: saving now puts what stands here in its place.'
const Id = () => Type.Optional(Type.String())

export function addRecordPages<Information extends object>(desk: Desk, kind: RecordKind<Information>): void {
  const { path, words, identifier } = kind
  const { serve, uri } = desk
  const [list, create, remove] = [`${path}s`, `${path}s/new`, `${path}/delete`]
  const idOf = (one: Information): string => String(one[identifier.name])
  const versionOf = (one: Information): string => hash('sha256', JSON.stringify(kind.valuesOf(one)), 'base64url')

  async function get(id: string): Promise<Information> {
    const found = await kind.find(id)
    if (found === null) throw new OAuthError('not_found', `no ${words.one} is registered under this name`, { status: 404 })
    return found
  }

  interface Shown {
    saved?: boolean
    values?: Values
    errors?: Errors
    deletion?: { error: string; typed: string }
  }

  async function show(call: PageCall, one: Information | null, shown: Shown = {}): Promise<FastifyReply> {
    const { saved = false, values = one === null ? {} : kind.valuesOf(one), errors = {}, deletion } = shown
    const id = one === null ? '' : idOf(one)
    const fields = [...(one === null ? [identifier] : []), ...(await kind.fields())]
    const model: RecordPage = {
      ...desk.target(call, one === null ? create : path, id),
      heading: one === null ? words.new : id,
      what: words.one,
      lead: words.lead,
      id,
      saved,
      version: one === null ? '' : versionOf(one),
      error: Object.keys(errors).length === 0 ? null : (errors[FORM] ?? 'Please look at the marked fields.'),
      fields: fields.map((field) => ({ ...field, value: values[field.name] ?? '', error: errors[field.name] ?? null })),
      related: one === null ? null : await kind.related(one),
      endings: words.endings,
      deletion: one === null ? null : { ...desk.target(call, remove, id), error: deletion?.error ?? null, typed: deletion?.typed ?? '' },
      listUri: uri(list),
      listText: words.list,
    }
    const refused = deletion !== undefined || Object.keys(errors).length > 0
    return call.reply.page('admin-record', model, { status: refused ? 400 : 200 })
  }

  /** What was typed, and what is wrong with it; nothing is saved while something is. */
  async function attempt(wire: Wire, id: string | null): Promise<{ values: Values; errors: Errors }> {
    const names = [identifier, ...(await kind.fields())].map(({ name }) => name)
    const typed = names.map((name) => [name, [wire[name] ?? ''].flat()[0]!.trim()] as const)
    const values = { ...Object.fromEntries(typed), ...(id === null ? {} : { [identifier.name]: id }) }
    try {
      await kind.save(values, { isNew: id === null })
      return { values, errors: {} }
    } catch (error) {
      if (!(error instanceof OAuthError) || error.status !== 400) throw error
      const [, field = '', reason = ''] = /^(\w+) (.+)$/s.exec(error.message) ?? []
      return { values, errors: names.includes(field) ? { [field]: sentence(reason) } : { [FORM]: sentence(error.message) } }
    }
  }

  serve({
    path: `/admin${list}`,
    query: Type.Object({ after: Type.Optional(Type.String()) }),
    async show({ after }, { reply }) {
      const found = await kind.list({ after, limit: PAGE + 1 })
      const rows = found.slice(0, PAGE).map((one) => ({
        id: idOf(one), href: uri(path, { id: idOf(one) }), cells: kind.cellsOf(one),
      }))
      return reply.page('admin-records', {
        heading: words.list,
        lead: words.listLead,
        newUri: uri(create),
        newText: words.new,
        columns: kind.columns,
        rows,
        nextUri: found.length > PAGE ? uri(list, { after: rows.at(-1)!.id }) : null,
        firstUri: after === undefined ? null : uri(list),
        tabs: TABS.map((tab) => ({ text: tab.text, href: uri(tab.path), current: tab.path === list })),
      })
    },
  })
  serve({
    path: `/admin${create}`,
    query: Type.Object({}),
    form: Type.Object({}),
    show: async (_query, call) => show(call, null),
    async submit(_form, call) {
      desk.assertGenuine(call, create, '')
      const { values, errors } = await attempt(call.wire, null)
      if (Object.keys(errors).length > 0) return show(call, null, { values, errors })
      return call.reply.redirect(uri(path, { id: values[identifier.name]!, saved: 'yes' }), 303)
    },
  })
  serve({
    path: `/admin${path}`,
    query: Type.Object({ id: Id(), saved: Type.Optional(Type.String()) }),
    form: Type.Object({ id: Id(), version: Type.Optional(Type.String()) }),
    show: async ({ id = '', saved }, call) => show(call, await get(id), { saved: saved !== undefined }),
    async submit({ id = '', version }, call) {
      desk.assertGenuine(call, path, id)
      const one = await get(id)
      if (version !== versionOf(one)) {
        const values = Object.fromEntries(Object.keys(kind.valuesOf(one)).map((name) => [name, String(call.wire[name] ?? '')]))
        return show(call, one, { values, errors: { [FORM]: CHANGED_MEANWHILE } })
      }
      const { values, errors } = await attempt(call.wire, id)
      if (Object.keys(errors).length > 0) return show(call, one, { values, errors })
      return call.reply.redirect(uri(path, { id, saved: 'yes' }), 303)
    },
  })
  serve({
    path: `/admin${remove}`,
    query: Type.Object({ id: Id() }),
    form: Type.Object({ id: Id(), confirm: Type.Optional(Type.String()) }),
    show: async ({ id = '' }, { reply }) => reply.redirect(uri(path, { id }), 303),
    async submit({ id = '', confirm = '' }, call) {
      desk.assertGenuine(call, remove, id)
      const one = await get(id)
      if (confirm.trim() !== id)
        return show(call, one, { deletion: { error: `This is not the name of this ${words.one}.`, typed: confirm } })
      await kind.delete(id)
      return call.reply.redirect(uri(list), 303)
    },
  })
} // prettier-ignore
