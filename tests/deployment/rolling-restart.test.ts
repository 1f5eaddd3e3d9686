/**
 * Two processes behind nginx, with the configuration that docs/deploy.md gives, are restarted one after the other while
 * clients and people go on: nobody notices.
 */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { JOURNEY_SEED, journeysOf } from '../support/journeys.ts'
import { underLoad } from '../support/load.ts'
import { createCertificate, noNginx, siteOf, startNginx } from '../support/nginx.ts'
import { type SpawnedServer, spawnServer } from '../support/process.ts'
import { requestsTo } from '../support/requests.ts'
import { statusOf } from '../support/service.ts'
import { freePort } from '../support/settings.ts'

const ROUNDS = 2

function errorsIn(output: string): string[] {
  return output.split('\n').filter((line) => /"level":"(?:error|fatal)"/.test(line))
}

test.skipIf(noNginx)(
  'a rolling restart behind nginx fails no request',
  async () => {
    const [port, plain, ...ports] = await Promise.all(Array.from({ length: 4 }, freePort))
    const { certificate, key } = await createCertificate()
    const nginx = await startNginx(
      await siteOf([
        ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
        [`    listen [::]:443 ssl;\n`, ''],
        ['listen 80', `listen 127.0.0.1:${plain}`],
        [`    listen [::]:80;\n`, ''],
        ['127.0.0.1:3001', `127.0.0.1:${ports[0]}`],
        ['127.0.0.1:3002', `127.0.0.1:${ports[1]}`],
        ['login.example.com;', 'localhost;'],
        ['/etc/letsencrypt/live/login.example.com/fullchain.pem', certificate],
        ['/etc/letsencrypt/live/login.example.com/privkey.pem', key],
      ]),
      port!,
    )
    const issuer = `https://localhost:${port}`
    const database = await createDatabase()
    const settings = {
      OIDC_ISSUER: issuer,
      NODE_ENV: 'production',
      SECRET_KEY: randomBytes(32).toString('hex'),
      SHUTDOWN_DELAY: 3,
      TRUSTED_PROXIES: '127.0.0.1',
    }
    const started: SpawnedServer[] = []
    const start = async (on: number): Promise<SpawnedServer> => {
      const server = await spawnServer({ ...settings, PORT: on }, { database, seed: JOURNEY_SEED })
      const ready = async () => statusOf(requestsTo(`http://127.0.0.1:${on}`).get('/readyz')).catch(String)
      await expect.poll(ready, { timeout: 120_000 }).toBe(200)
      started.push(server)
      return server
    }
    const servers = [await start(ports[0]!), await start(ports[1]!)]

    const load = underLoad(await journeysOf({ url: issuer, ...requestsTo(issuer) }), 4)
    await load.more(40)
    for (let round = 0; round < ROUNDS; round++)
      for (const [index, on] of ports.entries()) {
        const restarted = servers[index]!.stop().then(async (status) => ({ status, server: await start(on) }))
        await load.more(40)
        const { status, server } = await restarted
        expect(status).toBe(0)
        servers[index] = server
        await load.more(40)
      }
    const steps = await load.stop()

    const failed = steps.filter(({ outcome }) => outcome !== 'ok')
    const outcomes = Object.groupBy(failed, ({ journey, outcome }) => `${journey}: ${outcome.slice(0, 200)}`)
    expect(Object.entries(outcomes).map(([what, all]) => `${what} (${all!.length} times)`)).toEqual([])
    expect(started.flatMap(({ output }) => errorsIn(output()))).toEqual([])
    expect(new Set(steps.map(({ journey }) => journey)).size).toBe(5)
    expect(await nginx.errors()).toContain('Connection refused')
  },
  240_000,
)
