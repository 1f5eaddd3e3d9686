/** What the janitor removes and what it never does, with rows of all ages. */
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import {
  ALIVE, createDatabaseForRows, DAY, empty, type Family, fill, fillFamilies, HOUR, janitorOf, LIFETIME, openAs, TABLES,
} from '../support/expired-rows.ts' // prettier-ignore

const rows = await createDatabaseForRows()
const { query } = rows
const janitor = janitorOf(await openAs(rows))

/** Seconds from now, a quarter of an hour beside every limit. */
const instant = fc
  .oneof(
    fc.integer({ min: -60, max: 60 }),
    fc.integer({ min: -120, max: 120 }).map((days) => days * 24),
  )
  .map((hours) => hours * HOUR + 900)

beforeEach(() => empty(rows))

test.each(TABLES)('$table: what is dead goes, all else stays', async (table) => {
  const row = fc.record({ at: instant, flag: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 40 }), async (given) => {
      await query(`delete from ${table.table}`)
      await fill(rows, table, given)
      await janitor.round()
      const left = await query(`select ${table.key} as key from ${table.table}`)
      const alive = given.flatMap((one, index) => (table.isDead(one) ? [] : [`row ${index}`]))
      expect(left.map(({ key }) => key as string).toSorted()).toEqual(alive.toSorted())
    }),
    { numRuns: 25 },
  )
})

test('nothing goes early where the clock of a process is ahead', async () => {
  for (const table of TABLES) await fill(rows, table, [ALIVE])
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 400 * DAY * 1000 })
  onTestFinished(() => void vi.useRealTimers())
  expect(Object.values(await janitor.round()).filter((removed) => removed > 0)).toEqual([])
})

/** When the last token that could name it is dead. */
const endOf = ({ created, revoked, refresh }: Family): number =>
  Math.min(
    Math.max(created, refresh ?? created) + LIFETIME + DAY,
    revoked === null ? Infinity : revoked + 30 * DAY,
  )

const isGone = (family: Family): boolean => family.until < 0 && endOf(family) < 0

/** Of each that is there, how many refresh tokens and codes it has. */
async function familiesLeft(): Promise<Record<string, [refresh: number, codes: number]>> {
  const rows = await query(
    `select coalesce(a.id, r.id, c.id)::text as id, coalesce(r.count, 0)::int as refresh, coalesce(c.count, 0)::int as codes
     from authorizations a
       full join (select authorization_id as id, count(*) from refresh_tokens group by 1) r on r.id = a.id
       full join (select authorization_id as id, count(*) from authorization_codes group by 1) c on c.id = a.id`,
  )
  return Object.fromEntries(rows.map(({ id, refresh, codes }) => [id, [refresh, codes]]))
}

const sizesOf = (families: readonly Family[]): Awaited<ReturnType<typeof familiesLeft>> =>
  Object.fromEntries(families.map(({ id, refresh, code }) => [id, [Number(refresh !== null), Number(code)]]))

const past = instant.map((at) => -Math.abs(at))
const family: fc.Arbitrary<Family> = fc.record({
  id: fc.uuid(),
  created: past,
  revoked: fc.option(past),
  refresh: fc.option(instant),
  code: fc.boolean(),
  until: instant,
})
const families = fc.uniqueArray(family, { maxLength: 20, selector: ({ id }) => id })

test('an Authorization stays with all that shows its tokens used twice, or goes with all of it', async () => {
  await fc.assert(
    fc.asyncProperty(families, async (all) => {
      for (const table of ['authorizations', 'refresh_tokens', 'authorization_codes'])
        await query(`delete from ${table}`)
      await fillFamilies(rows, all)
      await janitor.round()
      const left = await familiesLeft()
      expect(left).toEqual(sizesOf(all.filter((one) => !isGone(one))))
      const usable = all.filter(
        ({ created, revoked, refresh }) =>
          revoked === null && (created > -LIFETIME || (refresh !== null && refresh > 0)),
      )
      expect(Object.keys(left)).toEqual(expect.arrayContaining(usable.map(({ id }) => id)))
      const due = 'select id from authorizations where kept_until < now()'
      expect(await query(due)).toEqual([])
    }),
    { numRuns: 60 },
  )
})

test('where a resource has tokens that live longer, their Authorizations are kept as long', async () => {
  const some: Family = {
    id: randomUUID(),
    created: -5 * DAY,
    revoked: null,
    refresh: null,
    code: true,
    until: -1,
  }
  const resource = 'https://slow.example'
  await query('insert into resources (resource, access_token_lifetime) values ($1, $2)', [resource, 6 * DAY])
  await fillFamilies(rows, [some])
  await janitor.round()
  expect(await familiesLeft()).toEqual(sizesOf([some]))
  await query('delete from resources where resource = $1', [resource])
  await query(`update authorizations set kept_until = now() - interval '1 second'`)
  await janitor.round()
  expect(await familiesLeft()).toEqual({})
})
