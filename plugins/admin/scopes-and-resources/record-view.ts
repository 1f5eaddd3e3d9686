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
import type { FieldView } from '../models.ts'
import { pathsOf, type RecordField, type RecordKind, type RecordType, type Values } from './record-kind.ts'
import type { RecordPage } from './record-models.ts'

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
  /** Whether what was typed is what is there, as where a form that is saved comes again. */
  isAsTyped(wire: Wire, one: Information): Promise<boolean>
  idOf(one: Information): string
  /** What a new one is to be; undefined where there is no choice. */
  typeOf(wire: Wire): RecordType | undefined
  /** What people have seen of it: theirs must not undo what somebody else did meanwhile, unseen. */
  versionOf(one: Information): string
}

/** The key of an error that belongs to no field. */
export const FORM = ''
const MORE = message('Less common settings')

export function createRecordView<Information extends object>(
  area: AdminArea,
  kind: RecordKind<Information>,
): RecordView<Information> {
  const { words, identifier } = kind
  const { list, create, one: page, remove } = pathsOf(kind)
  const idOf = (one: Information): string => String(one[identifier.name])
  const versionOf = (one: Information): string => seenVersion(kind.valuesOf(one))

  /** Of a new one, as its address or its form says; undefined where there is no choice. */
  function typeOf(wire: Wire): RecordType | undefined {
    return kind.types?.find(({ key }) => key === wire['type']) ?? kind.types?.[0]
  }

  function typesBeside(type: RecordType | undefined): RecordPage['types'] {
    if (type === undefined) return []
    return kind.types!.map(({ key, title, text }) => ({
      title,
      text,
      href: area.uri(create, { type: key }),
      current: key === type.key,
    }))
  }

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
    const type = one === null ? typeOf(call.wire) : undefined
    const usual = type?.values ?? {}
    const { notice = null, values = one === null ? usual : kind.valuesOf(one), errors = {} } = shown
    const refused = Object.keys(errors).length > 0
    const fields = [...(one === null ? [identifier] : []), ...(await kind.fields(one, type))]
    const [asked, more] = [false, true].map((isFolded) =>
      fields
        .filter(({ folded = false }) => folded === isFolded)
        .map((field) => viewOf(field, values, errors)),
    ) as [FieldView[], FieldView[]]
    const open = more.some(({ name, value, error }) => error !== null || value !== (usual[name] ?? ''))
    const blank = { heading: words.new, id: '', version: '', note: null, related: null, deletion: null }
    const model = {
      ...(one === null ? { ...blank, ...area.target(call, create, '') } : await existing(call, one, shown)),
      section: kind.section.text,
      deleteText: words.delete,
      lead: (one === null ? type?.lead : kind.leadOf?.(one)) ?? words.lead,
      types: typesBeside(type),
      type: type?.key ?? '',
      notice,
      error: refused ? (errors[FORM] ?? message('Please look at the marked fields.')) : null,
      fields: asked,
      more: more.length === 0 ? null : { title: MORE, folded: { open }, fields: more },
      endings: words.endings,
      listUri: area.uri(list),
      listText: words.list,
    }
    return call.reply.page('admin-record', model, {
      status: refused || shown.deletion !== undefined ? 400 : 200,
    })
  }

  /** What the form says, by its fields; of one that is there its identifier is no field. */
  async function typed(wire: Wire, one: Information | null): Promise<{ names: string[]; values: Values }> {
    const type = one === null ? typeOf(wire) : undefined
    const fields = (await kind.fields(one, type)).map(({ name }) => name)
    const names = one === null ? [identifier.name, ...fields] : fields
    const values = Object.fromEntries(names.map((name) => [name, [wire[name] ?? ''].flat()[0]!.trim()]))
    return { names, values: { ...type?.values, ...values } }
  }

  return {
    idOf,
    versionOf,
    typeOf,
    show,
    isAsTyped: async (wire, one) =>
      Object.keys(changedIn((await typed(wire, one)).values, kind.valuesOf(one))).length === 0,
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
      const { names, values } = await typed(wire, one)
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
        return { values, errors: problemsIn(error, (member) => names.find((name) => name === member), FORM) }
      }
    },
  }
}

function viewOf({ folded: _folded, ...field }: RecordField, values: Values, errors: Errors): FieldView {
  return {
    hint: '',
    kind: 'text',
    autocomplete: 'off',
    options: [],
    ...field,
    // What is typed into it is not sent back.
    value: field.kind === 'password' ? '' : (values[field.name] ?? ''),
    error: errors[field.name] ?? null,
  }
}

/** Browsers end the lines of what they send in their own way. */
function changedIn(typed: Values, shown: Values): Values {
  const said = (value = ''): string => value.replaceAll('\r\n', '\n').trim()
  return Object.fromEntries(
    Object.entries(typed).filter(([name, value]) => said(value) !== said(shown[name])),
  )
}
