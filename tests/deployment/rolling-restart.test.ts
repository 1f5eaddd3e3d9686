/**
 * Two processes behind a proxy, with the configuration that docs/deploy.md gives, are restarted one after the other while
 * clients and people go on: nobody notices.
 */
import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { caddy } from '../support/caddy.ts'
import { createDatabase } from '../support/database.ts'
import { JOURNEY_SEED, journeysOf } from '../support/journeys.ts'
import { underLoad } from '../support/load.ts'
import { nginx } from '../support/nginx.ts'
import { type SpawnedServer, spawnServer } from '../support/process.ts'
import { requestsTo } from '../support/requests.ts'
import { statusOf } from '../support/service.ts'
import { freePort } from '../support/settings.ts'

const ROUNDS = 1

function errorsIn(output: string): string[] {
  return output.split('\n').filter((line) => /"level":"(?:error|fatal)"/.test(line))
}

/** The proxy must have seen that it is there before the other one goes. */
async function untilAsked({ output }: SpawnedServer): Promise<void> {
  await expect.poll(() => /"route":"\/token\/?"/.test(output())).toBe(true)
}

describe.each([nginx, caddy])('behind $name', ({ absent, start: startProxy }) => {
  test.skipIf(absent)('a rolling restart fails no request', async () => {
    const [port, plain, ...ports] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
    const proxyLog = await startProxy(port, plain, ports)
    const issuer = `https://localhost:${port}`
    const database = await createDatabase()
    const started: SpawnedServer[] = []
    const settings = {
      OIDC_ISSUER: issuer,
      NODE_ENV: 'production',
      SECRET_KEY: randomBytes(32).toString('hex'),
      SHUTDOWN_DELAY: 3,
      TRUSTED_PROXIES: '127.0.0.1',
    }
    const start = async (on: number): Promise<SpawnedServer> => {
      const server = await spawnServer({ ...settings, PORT: on }, { database, seed: JOURNEY_SEED })
      const ready = async () => statusOf(requestsTo(`http://127.0.0.1:${on}`).get('/readyz')).catch(String)
      await expect.poll(ready).toBe(200)
      started.push(server)
      return server
    }
    const servers = [await start(ports[0]), await start(ports[1])]

    const load = underLoad(await journeysOf({ url: issuer, ...requestsTo(issuer) }), 4)
    for (const server of servers) await untilAsked(server)
    await load.more(40)
    for (let round = 0; round < ROUNDS; round++)
      for (const [index, on] of ports.entries()) {
        expect(await servers[index]!.stop()).toBe(0)
        await load.more(40)
        servers[index] = await start(on)
        await untilAsked(servers[index])
        await load.more(40)
      }
    const steps = await load.stop()

    const failed = steps.filter(({ outcome }) => outcome !== 'ok')
    const outcomes = Object.groupBy(failed, ({ journey, outcome }) => `${journey}: ${outcome.slice(0, 200)}`)
    expect({
      failed: Object.entries(outcomes).map(([what, all]) => `${what} (${all!.length} times)`),
      logged: started.flatMap(({ output }) => errorsIn(output())),
    }).toEqual({ failed: [], logged: [] })
    expect(new Set(steps.map(({ journey }) => journey)).size).toBe(5)
    // The proxy did meet a process that was not there.
    expect(proxyLog()).toMatch(/connection refused/i)
  })
})
