/**
 * A database that does not answer for longer than anybody waits signs nobody out: what was answered with 503 may be done
 * all the same, and who sends it again is no thief. Nor are there ever more backends than the pool has places.
 * STALL_FAMILIES and STALL_SECONDS make it longer; the figures are printed.
 */
import { test } from 'vitest'
import { FAMILIES_SEED, startFamilies } from '../support/families.ts'
import { spawnServer } from '../support/process.ts'
import { countBackends, createGround, POOL, STALLS } from '../support/stalls.ts'

const { STALL_FAMILIES, STALL_SECONDS } = process.env
const families = Number(STALL_FAMILIES ?? 12)
const seconds = Number(STALL_SECONDS ?? 8)

test.concurrent.for(Object.entries(STALLS))('%s', async ([kind, stall], { expect }) => {
  const ground = await createGround()
  const settings = {
    DATABASE_URL: ground.proxy.url,
    DATABASE_POOL_SIZE: POOL,
    // Less than the stall: public clients are not lost either.
    ...(STALL_SECONDS === undefined ? { OIDC_REFRESH_REUSE_INTERVAL: 5 } : {}),
    LOG_LEVEL: 'error',
  }
  const server = await spawnServer(settings, { seed: FAMILIES_SEED })
  const clients = await startFamilies([server], families)
  await clients.more(2)
  const backends = countBackends(ground)
  await stall(ground, seconds)
  await clients.more(3)
  await clients.stop()
  await backends.stop()
  process.stdout.write(`${kind}: ${clients.lost.length} of ${families} families lost, ${backends.most()} backends at most of ${POOL}\n`)
  expect.soft(clients.lost).toEqual([])
  expect.soft(backends.most()).toBeLessThanOrEqual(POOL)
  expect(await server.stop()).toBe(0)
}) // prettier-ignore
