/**
 * What proves something once (a client's assertion, a DPoP proof, a pushed request), shown 50 times at once to two processes of
 * which one is killed in the middle: nobody gets anything for it twice, also not from its successor.
 */
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { ASSERTION_TYPE, assertionOf, createAssertionKey, serviceWith } from '../support/client-assertions.ts'
import { createDpopKey, prove } from '../support/dpop.ts'
import { spawnServer } from '../support/process.ts'
import { addressWith, push } from '../support/pushed.ts'
import type { Requests } from '../support/requests.ts'
import { SIGNED, toClient } from '../support/service.ts'
import { goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const assertionKey = await createAssertionKey()
const proofKey = await createDpopKey()
const clients = [...SEED.clients, SIGNED, serviceWith('asserting', assertionKey.jwk)]
/** Believed, so that each try comes from elsewhere: whoever fails so often is asked to wait. */
const settings = { LOG_LEVEL: 'error', OIDC_JANITOR_INTERVAL: 0, TRUSTED_PROXIES: '127.0.0.1' }
const one = await spawnServer(settings, { seed: { ...SEED, clients } })
const credentials = { grant_type: 'client_credentials' }
const agent = createUserAgent(one.url)
await goThrough(agent, await agent.get(one.url + addressWith(await push(one))))
const cookie = [...agent.cookies].map(([name, value]) => `${name}=${value}`).join('; ')

/** Shows one thing to a server, from an address: whether it was good for something. */
type Show = (server: Requests, headers: Readonly<Record<string, string>>) => Promise<Response>

/** Made anew, one each: how it is shown. */
const KINDS: Readonly<Record<string, () => Promise<Show>>> = {
  async assertion() {
    const client_assertion = await assertionOf(assertionKey, 'asserting', one.url)
    const form = { ...credentials, client_assertion, client_assertion_type: ASSERTION_TYPE }
    return async (server, headers) => server.post('/token', form, headers)
  },
  async proof() {
    const dpop = await prove(proofKey, { method: 'POST', url: `${one.url}/token` })
    const { basic } = toClient(SIGNED)
    return async (server, headers) => server.post('/token', credentials, { ...headers, ...basic, dpop })
  },
  async request_uri() {
    const address = addressWith(await push(one))
    return async (server, headers) => server.get(address, { ...headers, cookie })
  },
}

/** `good`, `cut` where the process went away meanwhile, or the status of a refusal. */
async function outcome(show: Show, server: Requests, from: number): Promise<string> {
  const responding = show(server, { 'x-forwarded-for': `198.51.${from >> 8}.${from & 255}` })
  const response = await responding.catch(() => undefined)
  if (response === undefined) return 'cut'
  await response.body?.cancel().catch(() => undefined)
  const location = response.headers.get('location') ?? ''
  if (response.status === 200 || new URL(location, one.url).searchParams.has('code')) return 'good'
  return String(response.status)
}

const count = (outcomes: readonly string[], wanted: string): number =>
  outcomes.filter((outcome) => outcome === wanted).length

test.each([1, 5, 20])(
  'an assertion, a proof and a request_uri are good once, when one of two processes is killed after %i answers of 150',
  async (killedAfter) => {
    const two = await spawnBeside(one.settings, one.database)
    let answers = 0
    let killed: Promise<unknown> | undefined
    const kinds = Object.values(KINDS)
    const shows = await Promise.all(kinds.map(async (make) => make()))
    const tries = async (show: Show): Promise<string[]> =>
      Promise.all(
        Array.from({ length: 50 }, async (_, at) => {
          const told = await outcome(show, at % 2 === 0 ? two : one, at)
          answers++
          if (answers >= killedAfter) killed ??= two.stop('SIGKILL')
          return told
        }),
      )
    const outcomes = await Promise.all(shows.map(tries))
    await killed
    expect(count(outcomes.flat(), 'cut')).toBeGreaterThan(0)
    const successor = await spawnBeside(one.settings, one.database)
    for (const [at, show] of shows.entries()) {
      const good = count(outcomes[at]!, 'good')
      expect(good).toBeLessThanOrEqual(1)
      const later = [await outcome(show, successor, 100), await outcome(show, one, 101)]
      // Where nobody was told, it may have been spent by what died, or be good still.
      expect(count(later, 'good')).toBeLessThanOrEqual(1 - good)
      expect(later.at(-1)).toMatch(/^[34]\d\d$/)
      await expect(outcome(show, successor, 102)).resolves.toMatch(/^[34]\d\d$/)
    }
    await successor.stop()
  },
)

test('of 50 uses of each at two processes that live, exactly one is good', async () => {
  const two = await spawnBeside(one.settings, one.database)
  for (const make of Object.values(KINDS)) {
    const show = await make()
    const tries = Array.from({ length: 50 }, async (_, at) => outcome(show, at % 2 === 0 ? two : one, at))
    expect(count(await Promise.all(tries), 'good')).toBe(1)
  }
})
