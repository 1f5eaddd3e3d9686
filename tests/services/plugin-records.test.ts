/** What plugins keep that belongs to no user: it lasts, every process sees the same, and it is bounded. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { PluginRecords } from '../../src/doors/plugin-records.ts'
import type { OAuth } from '../../plugins/oauth/index.ts'
import { statements as uses } from '../../src/store/secret-key-uses.ts'
import { tableOf } from '../../src/store/statement.ts'
import { startServer } from '../support/server.ts'

interface Organisation {
  name: string
  domain?: string
}

function declare({ records }: OAuth) {
  return {
    organisations: records<Organisation>('organisation', { key: ({ domain }) => domain }),
    others: records<Organisation>('other'),
    few: records<Organisation>('few', { most: 2 }),
    sealed: records<Organisation>('sealed', { sealed: true, key: ({ domain }) => domain }),
  }
}

let here!: ReturnType<typeof declare>
let there!: ReturnType<typeof declare>
let refused: unknown[] = []
const server = await startServer(
  {},
  {
    extend({ oauth }) {
      here = declare(oauth)
      const declarations: (() => unknown)[] = [
        () => oauth.records('organisation'),
        () => oauth.records('Not a kind'),
        () => oauth.records('kind', { most: 0 }),
        () => oauth.records('kind', { seal: true } as object),
        () => oauth.records('kind', { key: 'domain' } as object),
      ]
      refused = declarations.map((declaration) => {
        try {
          return declaration()
        } catch (error) {
          return (error as Error).message
        }
      })
    },
  },
)
const { SECRET_KEY, PORT: _port, ...settings } = server.settings
const rotated = { ...settings, SECRET_KEY: `${'k'.repeat(40)},${String(SECRET_KEY)}` }
const second = await startServer(rotated, {
  database: server.database,
  extend: ({ oauth }) => void (there = declare(oauth)),
})
const rows = async (kind: string): Promise<unknown> =>
  server.database.query(`select value, revision from plugin_records where kind = '${kind}'`)
const events = async () => (await server.server.oauth.audit.list({ type: 'consent.denied' })).events

describe('records of a plugin', () => {
  test('are put once, found by id and key, replaced by whom has read them, and deleted, by any process', async () => {
    const { organisations, others } = here
    expect(await organisations.put('one', { name: 'One', domain: 'one.example' })).toBe(true)
    expect(await there.organisations.put('one', { name: 'Again' })).toBe(false)
    expect(await others.put('one', { name: 'Of another kind' })).toBe(true)
    const read = (await there.organisations.get('one'))!
    expect(read).toMatchObject({ id: 'one', value: { name: 'One', domain: 'one.example' }, revision: 0 })
    expect(Math.abs(read.createdAt - Date.now())).toBeLessThan(60_000)
    expect((await there.organisations.find('one.example'))?.id).toBe('one')

    const both = await Promise.all(
      [here, there].map(async (process, n) => process.organisations.replace(read, { name: `${n}` })),
    )
    expect(new Set(both)).toEqual(new Set([false, true]))
    expect(await organisations.get('one')).toMatchObject({
      revision: 1,
      value: { name: both[0] ? '0' : '1' },
    })
    expect(await organisations.find('one.example')).toBeNull()
    expect([await there.organisations.delete('one'), await organisations.delete('one')]).toEqual([
      true,
      false,
    ])
    expect([await organisations.get('one'), (await others.get('one'))?.value]).toEqual([
      null,
      { name: 'Of another kind' },
    ])
  })

  test('have their keys alone, of many who ask at once and also when they are replaced', async () => {
    const { organisations } = here
    const asked = [here, there, here, there].map(async (process) =>
      process.organisations.put(randomUUID(), { name: 'Many', domain: 'many.example' }),
    )
    expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1)
    await organisations.put('two', { name: 'Two', domain: 'two.example' })
    const two = (await organisations.get('two'))!
    expect(await organisations.replace(two, { name: 'Two', domain: 'many.example' })).toBe(false)
    expect(await organisations.get('two')).toEqual(two)
    expect(await organisations.replace(two, { name: 'Too', domain: 'two.example' })).toBe(true)
    await expect(here.others.find('two.example')).rejects.toThrow('have no key')
  })

  test('are listed a page at a time', async () => {
    for (const id of ['c', 'a', 'b']) await here.sealed.put(id, { name: id.toUpperCase() })
    const first = await there.sealed.list({ limit: 2 })
    const next = await there.sealed.list({ limit: 2, after: first.at(-1)!.id })
    expect([first, next].map((page) => page.map(({ id, value }) => id + value.name))).toEqual([
      ['aA', 'bB'],
      ['cC'],
    ])
    expect(await there.sealed.list({ after: 'c' })).toEqual([])
    await expect(here.sealed.list({ limit: 101 })).rejects.toThrow('1 to 100')
  })

  test('are so many at most, and one that goes makes room', async () => {
    const { few } = here
    expect([await few.put('a', { name: 'a' }), await few.put('b', { name: 'b' })]).toEqual([true, true])
    await expect(few.put('c', { name: 'c' })).rejects.toThrow('as many records few as there may be')
    await few.delete('a')
    expect(await few.put('c', { name: 'c' })).toBe(true)
  })

  test('hold what can be stored, and no more', async () => {
    const { others } = here
    await expect(others.put('large', { name: 'x'.repeat(32_768) })).rejects.toThrow(TypeError)
    await expect(others.put('nul', { name: 'a\0b' })).rejects.toThrow(TypeError)
    for (const id of ['', 'x'.repeat(201), 'a\0b', '\ud800']) {
      await expect(others.put(id, { name: 'a' })).rejects.toThrow('1 to 200 characters')
      expect([await others.get(id), await others.delete(id)]).toEqual([null, false])
    }
    await expect(here.organisations.put('key', { name: 'a', domain: '' })).rejects.toThrow('the key of')
    expect(await here.organisations.find('a\0b')).toBeNull()
  })

  test('are encrypted at rest where the kind asks for it, each for its own place', async () => {
    await here.sealed.put('secret', { name: 'JBSWY3DPEHPK3PXP', domain: 'sealed.example' })
    expect(JSON.stringify(await rows('sealed'))).not.toContain('JBSWY3DPEHPK3PXP')
    expect((await here.sealed.find('sealed.example'))?.value.name).toBe('JBSWY3DPEHPK3PXP')
    await server.database
      .query(`update plugin_records set value = (select value from plugin_records where record_id = 'secret')
      where record_id = 'a'`)
    await expect(here.sealed.get('a')).rejects.toThrow('the record sealed a cannot be decrypted')
    await here.sealed.delete('a')
  })

  test('are sealed anew under another SECRET_KEY when they are read, and stay what they are', async () => {
    await here.sealed.put('rotated', { name: 'old key' })
    const before = await rows('sealed')
    expect(await there.sealed.get('rotated')).toMatchObject({ value: { name: 'old key' }, revision: 0 })
    const after = await rows('sealed')
    expect(after).not.toEqual(before)
    const needed = async () =>
      (await server.database.query(uses.all.build(tableOf()))).filter(
        ({ what }) => what === 'records of plugins',
      )
    // What a plugin calls sealed is none of ours.
    await here.others.put('called', { name: 'a', sealed: 'by.somebody' } as Organisation)
    expect((await there.others.get('called'))?.value).toEqual({ name: 'a', sealed: 'by.somebody' })
    expect(await needed()).toHaveLength(2)
    // A list reads the others.
    await there.sealed.list()
    expect(await needed()).toHaveLength(1)
  })

  test('are read also where the kind asked for encryption once, or asks for it now', async () => {
    let open!: PluginRecords<Organisation>
    let closed!: PluginRecords<Organisation>
    const third = await startServer(rotated, {
      database: server.database,
      extend({ oauth }) {
        open = oauth.records<Organisation>('sealed')
        closed = oauth.records<Organisation>('other', { sealed: true })
      },
    })
    await here.others.put('plain', { name: 'plain' })
    expect((await open.get('rotated'))?.value).toEqual({ name: 'old key' })
    expect((await closed.get('plain'))?.value).toEqual({ name: 'plain' })
    await third.close()
  })

  test('have their event noted with the change, and only where something changed', async () => {
    const event = { type: 'consent.denied', details: {} } as const
    const { others } = here
    expect(await others.put('told', { name: 'a' }, event)).toBe(true)
    expect(await others.put('told', { name: 'a' }, event)).toBe(false)
    const read = (await others.get('told'))!
    expect(await others.replace(read, { name: 'b' }, event)).toBe(true)
    expect(await others.replace(read, { name: 'c' }, event)).toBe(false)
    expect([await others.delete('told', event), await others.delete('told', event)]).toEqual([true, false])
    expect(await events()).toHaveLength(3)
    await expect(here.few.put('d', { name: 'd' }, event)).rejects.toThrow('as many')
    expect(await events()).toHaveLength(3)
  })

  test('have a kind with one owner, declared while the server starts', () => {
    expect(refused).toEqual([
      'The record kind organisation is taken.',
      'The records Not a kind need a name of small letters, digits and hyphens.',
      'The most of the records kind must be a whole number from 1 to 100000.',
      'The records kind has seal, which is never asked for: the nearest is sealed.',
      'The key of the records kind must be a function; it is "domain".',
    ])
    expect(() => server.server.oauth.records('late')).toThrow(
      'The records late must be registered before the server is ready.',
    )
  })
})

test('what a plugin kept is there for the next start, also after one without it', async () => {
  await here.others.put('lasting', { name: 'a' })
  const without = await startServer(rotated, { database: server.database })
  await without.close()
  let again!: PluginRecords<Organisation>
  const next = await startServer(rotated, {
    database: server.database,
    extend: ({ oauth }) => void (again = oauth.records<Organisation>('other')),
  }) // prettier-ignore
  expect((await again.get('lasting'))?.value).toEqual({ name: 'a' })
  await next.close()
  await second.close()
})
