/** The door `oauth.records`: what plugins keep that belongs to no user, encrypted at rest where they ask for it. */
import { assertRecordKind, assertRecordOptions } from '../doors/record-shapes.ts'
import type {
  OpenPluginRecords,
  PluginRecord,
  PluginRecordOptions,
  PluginRecords,
} from '../doors/plugin-records.ts'
import type { DoorRegistry } from '../doors/registry.ts'
import type { NewEvent } from '../events.ts'
import type { Bag } from '../protocol/bag.ts'
import { OAuthError } from '../protocol/errors.ts'
import { isStorable } from '../protocol/json.ts'
import type { Database } from '../store/database.ts'
import { isDuplicate } from '../store/failures.ts'
import { statements, type PluginRecordRow } from '../store/plugin-records.ts'
import type { Statement } from '../store/statement.ts'
import type { AuditTrail } from './audit/audit.ts'
import { pluginRecordContext } from './keys/former-keys.ts'
import type { SecretBox } from './keys/secret-box.ts'

/** On one page. */
const PAGE = 100
/** Of one kind, unless its plugin says otherwise. */
const MOST = 10_000
/** Characters: of a name, and of a value as JSON. */
const NAME = 200
const VALUE = 32_768

export interface PluginRecordsOptions {
  database: Database
  doors: DoorRegistry
  audit: AuditTrail
  box: SecretBox
}

export function createPluginRecords({
  database,
  doors,
  audit,
  box,
}: PluginRecordsOptions): OpenPluginRecords {
  /** The row that a statement answers with; the event is noted with it where something changed. */
  async function change<Row extends object>(
    statement: Statement<Row>,
    values: readonly unknown[],
    event: NewEvent | undefined,
    isDone: (row: Row) => boolean,
  ): Promise<Row | undefined> {
    if (event === undefined) return (await database.query(statement, values))[0]
    return audit.transaction(async (query, note) => {
      const [row] = await query(statement, values)
      if (row !== undefined && isDone(row)) note(event)
      return row
    })
  }

  function keep(kind: string, { sealed = false, key, most = MOST }: PluginRecordOptions): PluginRecords {
    const contextOf = (id: string): string => pluginRecordContext(kind, id)
    /** As JSON. */
    const seal = (id: string, text: string): string => JSON.stringify(box.seal(text, contextOf(id)))

    function stored(id: string, value: Bag): string {
      const text = JSON.stringify(value)
      if (!isStorable(value) || text.length > VALUE)
        throw new TypeError(`a record ${kind} is ${VALUE} characters of JSON at most, without NUL`)
      return sealed ? seal(id, text) : text
    }

    function keyOf(value: Bag): string | null {
      const found = key?.(value) ?? null
      if (found !== null && !isName(found)) throw noName(kind, 'key')
      return found
    }

    /** Its value; sealed anew under the first key from here on, so that older ones can go. */
    async function open({ id, value }: PluginRecordRow): Promise<Bag> {
      if (typeof value !== 'string') return value
      const text = box.open(value, contextOf(id), `the record ${kind} ${id}`)
      if (!box.isCurrent(value))
        await database.query(statements.reseal, [kind, id, seal(id, text), JSON.stringify(value)])
      return JSON.parse(text) as Bag
    }

    async function toRecord(row: PluginRecordRow | undefined): Promise<PluginRecord | null> {
      if (row === undefined) return null
      const { id, revision, createdAt, updatedAt } = row
      const value = await open(row)
      return { id, value, revision, createdAt: createdAt.getTime(), updatedAt: updatedAt.getTime() }
    }

    return {
      async get(id) {
        return isName(id) ? toRecord((await database.query(statements.get, [kind, id]))[0]) : null
      },
      async find(name) {
        if (key === undefined) throw new TypeError(`records of the kind ${kind} have no key`)
        return isName(name) ? toRecord((await database.query(statements.find, [kind, name]))[0]) : null
      },
      async list({ after = '', limit = PAGE } = {}) {
        if (!(limit >= 1 && limit <= PAGE)) throw new RangeError(`a page of records has 1 to ${PAGE}`)
        if (after !== '' && !isName(after)) throw noName(kind, 'id')
        const rows = await database.query(statements.list, [kind, after, limit])
        const found = await Promise.all(rows.map(toRecord))
        return found.filter((record) => record !== null)
      },
      async put(id, value, event) {
        if (!isName(id)) throw noName(kind, 'id')
        const values = [kind, id, stored(id, value), keyOf(value), most]
        const row = await change(statements.put, values, event, (one) => one.stored)
        if (row?.full) throw isFull(kind)
        return row?.stored === true
      },
      async replace({ id, revision }, value, event) {
        const values = [kind, id, stored(id, value), keyOf(value), revision]
        try {
          return (await change(statements.replace, values, event, () => true)) !== undefined
        } catch (error) {
          if (isDuplicate(error)) return false
          throw error
        }
      },
      async delete(id, event) {
        return isName(id) && (await change(statements.delete, [kind, id], event, () => true)) !== undefined
      },
    }
  }

  return <Value extends object = Bag>(kind: string, options: PluginRecordOptions<Value> = {}) => {
    doors.assertOpen(`The records ${kind}`)
    assertRecordKind(kind)
    assertRecordOptions(kind, options)
    doors.own('record kind', kind)
    return keep(kind, options as PluginRecordOptions) as PluginRecords<Value>
  }
}

function isName(name: unknown): name is string {
  return typeof name === 'string' && name.length >= 1 && name.length <= NAME && isStorable(name)
}

function noName(kind: string, what: 'id' | 'key'): TypeError {
  return new TypeError(`the ${what} of a record ${kind} is a text of 1 to ${NAME} characters, without NUL`)
}

function isFull(kind: string): OAuthError {
  return new OAuthError('invalid_request', `there are as many records ${kind} as there may be`)
}
