/**
 * The version before the newest migration and this one, side by side on one database: each request goes to the other of
 * the two, so that what one began the other must go on with.
 */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { startBalancer } from '../support/balancer.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { JOURNEY_SEED, journeysOf, type Step } from '../support/journeys.ts'
import { underLoad } from '../support/load.ts'
import { spawnServer } from '../support/process.ts'
import { requestsTo } from '../support/requests.ts'
import { statusOf } from '../support/service.ts'
import { freePort } from '../support/settings.ts'
import { findPreviousVersion } from './previous-version.ts'

const previous = await findPreviousVersion()

if (previous === undefined)
  process.stderr.write(
    '\n!!! SKIPPED: the history has no version before the newest migration (a shallow clone?), so no upgrade is tested.\n\n',
  )

function failuresOf(steps: readonly Step[]): string[] {
  return steps
    .filter(({ outcome }) => outcome !== 'ok')
    .map(({ journey, outcome }) => `${journey}: ${outcome.slice(0, 200)}`)
}

test.skipIf(previous === undefined)(
  'old and new run side by side, the old one on the new schema too, and nobody notices',
  async () => {
    const { program, newer } = previous!
    expect(newer.length).toBeGreaterThan(0)
    const database = await createEmptyDatabase()
    const balancer = await startBalancer()
    const [oldPort, newPort] = [await freePort(), await freePort()]
    const settings = { OIDC_ISSUER: balancer.url, SECRET_KEY: randomBytes(32).toString('hex') }
    const startOld = async () => {
      balancer.sendTo(oldPort)
      return spawnServer({ ...settings, PORT: oldPort }, { database, program, seed: JOURNEY_SEED })
    }
    const migrated = async () =>
      (await database.query<{ name: string }>('select name from migrations')).map(({ name }) => `${name}.ts`)

    const old = await startOld()
    expect((await migrated()).filter((name) => newer.includes(name))).toEqual([])
    const next = await journeysOf({ ...requestsTo(balancer.url), url: balancer.url })
    const load = underLoad(next, 4)
    await load.more(40)

    // It migrates while the old one is at work.
    const starting = spawnServer({ ...settings, PORT: newPort }, { database, seed: JOURNEY_SEED })
    const fresh = await starting
    const ready = async () => statusOf(requestsTo(`http://127.0.0.1:${newPort}`).get('/readyz')).catch(String)
    await expect.poll(ready).toBe(200)
    expect(await migrated()).toEqual(expect.arrayContaining(newer))
    balancer.sendTo(oldPort, newPort)
    await load.more(150)
    expect(failuresOf(await load.stop())).toEqual([])

    // And back again: the old one starts on the new schema, with what both have written.
    expect([await old.stop(), await fresh.stop()]).toEqual([0, 0])
    const again = await startOld()
    const afterwards = underLoad(next, 4)
    await afterwards.more(40)
    expect(failuresOf(await afterwards.stop())).toEqual([])
    for (const { output } of [old, fresh, again]) expect(output()).not.toMatch(/"level":"(?:error|fatal)"/)
  },
)
