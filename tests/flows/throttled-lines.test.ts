/** Who is throttled cannot fill the log: a few lines, and how many there were. */
import { expect, test } from 'vitest'
import { spawnServer } from '../support/process.ts'
import { basic } from '../support/requests.ts'

const TRIES = 200
const WINDOW = 10_000

test('of requests that are answered 429 a few have a line in the log, and one line counts the others', async () => {
  const server = await spawnServer({ LOG_LEVEL: 'info' })
  const begun = performance.now()
  const wrong = basic('nobody', 'at all')
  let throttled = 0
  for (let count = 0; count < TRIES; count++) {
    const { status } = await server.post('/token', { grant_type: 'client_credentials' }, wrong)
    if (status === 429) throttled++
  }
  expect(throttled).toBeGreaterThan(100)
  const windows = 1 + Math.ceil((performance.now() - begun) / WINDOW)
  await server.stop()

  const lines = server.output().split('\n').filter((line) => line.startsWith('{"level"'))
    .map((line) => JSON.parse(line) as { status?: number; unsaid?: number }) // prettier-ignore
  const said = lines.filter(({ status }) => status === 429).length
  const unsaid = lines.reduce((sum, line) => sum + (line.unsaid ?? 0), 0)
  expect(said).toBeLessThanOrEqual(10 * windows)
  expect(said + unsaid).toBe(throttled)
  expect(unsaid).toBeGreaterThan(0)
})
