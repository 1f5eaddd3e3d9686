/** The page of one thing, or of the form for a new one, with whatever was refused; and the way from what was typed to what is saved. */
import { type Words, message } from '../../../src/protocol/message.ts'
import type { FastifyReply } from 'fastify'
import { OAuthError } from '../../../src/protocol/errors.ts'
import type { Wire } from '../../../src/protocol/wire.ts'
import type { PageCall } from '../../pages/index.ts'
import type { Notice } from '../../pages/models.ts'
import { seenVersion } from '../../pages/seen-version.ts'
import { problemsIn } from '../../pages/words.ts'
import { NotThere } from '../not-there.ts'
import type { AdminArea } from '../sections.ts'
import { pathsOf, type RecordKind, type Values } from './record-kind.ts'

type Errors = Readonly<Record<string, Words>>

/** What the page says besides what is registered. */
export interface Shown {
  notice?: Notice | null
  values?: Values
  errors?: Errors
  deletion?: { error: Words; typed: string }
}

export interface RecordView<Information> {
  /** Throws `not_found` (404). */
  get(id: string): Promise<Information>
  /** `one` is null for a new one. */
  show(call: PageCall, one: Information | null, shown?: Shown): Promise<FastifyReply>
  /**
   * What was typed, and what is wrong with it; nothing is saved while something is. Of `one`, which is null for a new one, only what was
   * typed otherwise is saved: what somebody else changes of it at that moment stays.
   */
  attempt(wire: Wire, one: Information | null): Promise<{ values: Values; errors: Errors }>
  idOf(one: Information): string
  /** What people have seen of it: theirs must not undo what somebody else did meanwhile, unseen. */
  versionOf(one: Information): string
}

/** The key of an error that belongs to no field. */
export const FORM = ''

export function createRecordView<Information extends object>(
  area: AdminArea,
  kind: RecordKind<Information>,
): RecordView<Information> {
  const { words, identifier } = kind
  const { list, create, one: page, remove } = pathsOf(kind)
  const idOf = (one: Information): string => String(one[identifier.name])
  const versionOf = (one: Information): string => seenVersion(kind.valuesOf(one))

  /** Only of one that is there already. */
  async function existing(call: PageCall, one: Information, { deletion }: Shown) {
    const id = idOf(one)
    const { error = null, typed = '' } = deletion ?? {}
    return {
      ...area.target(call, page, id),
      heading: id,
      id,
      version: versionOf(one),
      note: kind.noteOf?.(one) ?? null,
      related: await kind.related(one),
      deletion: { ...area.target(call, remove, id), error, typed },
    }
  }

  async function show(call: PageCall, one: Information | null, shown: Shown = {}): Promise<FastifyReply> {
    const { notice = null, values = one === null ? {} : kind.valuesOf(one), errors = {} } = shown
    const refused = Object.keys(errors).length > 0
    const fields = [...(one === null ? [identifier] : []), ...(await kind.fields(one))]
    const blank = { heading: words.new, id: '', version: '', note: null, related: null, deletion: null }
    const model = {
      ...(one === null ? { ...blank, ...area.target(call, create, '') } : await existing(call, one, shown)),
      section: kind.section.text,
      deleteText: words.delete,
      lead: (one === null ? undefined : kind.leadOf?.(one)) ?? words.lead,
      notice,
      error: refused ? (errors[FORM] ?? message('Please look at the marked fields.')) : null,
      fields: fields.map((field) => ({
        hint: '',
        kind: 'text' as const,
        autocomplete: 'off',
        options: [],
        ...field,
        // What is typed into it is not sent back.
        value: field.kind === 'password' ? '' : (values[field.name] ?? ''),
        error: errors[field.name] ?? null,
      })),
      endings: words.endings,
      listUri: area.uri(list),
      listText: words.list,
    }
    return call.reply.page('admin-record', model, {
      status: refused || shown.deletion !== undefined ? 400 : 200,
    })
  }

  return {
    idOf,
    versionOf,
    show,
    async get(id) {
      const found = await kind.find(id)
      if (found !== null) return found
      throw new NotThere(`no ${words.one} is registered under this name`, {
        section: kind.section.text,
        title: words.none,
        listUri: area.uri(list),
        listText: words.list,
      })
    },
    async attempt(wire, one) {
      const names = [identifier, ...(await kind.fields(one))].map(({ name }) => name)
      const typed = Object.fromEntries(names.map((name) => [name, [wire[name] ?? ''].flat()[0]!.trim()]))
      const values = one === null ? typed : { ...typed, [identifier.name]: idOf(one) }
      try {
        await (one === null
          ? kind.save(values, { isNew: true })
          : kind.save(
              { ...changedIn(values, kind.valuesOf(one)), [identifier.name]: idOf(one) },
              { isNew: false },
            ))
        return { values, errors: {} }
      } catch (error) {
        if (!(error instanceof OAuthError) || error.status !== 400) throw error
        // What identifies one that is there has no field.
        const fields = names.filter((name) => one === null || name !== identifier.name)
        return { values, errors: problemsIn(error, (member) => fields.find((name) => name === member), FORM) }
      }
    },
  }
}

/** Browsers end the lines of what they send in their own way. */
function changedIn(typed: Values, shown: Values): Values {
  const said = (value = ''): string => value.replaceAll('\r\n', '\n').trim()
  return Object.fromEntries(
    Object.entries(typed).filter(([name, value]) => said(value) !== said(shown[name])),
  )
}
