/** A consent that is withdrawn while requests that rest on it are on their way, at two processes: nothing of theirs lives on. */
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { exchangeAs } from '../support/code-flow.ts'
import { DEVICE_SEED, DEVICE_SETTINGS, allow, ask, newPerson, poll } from '../support/device.ts'
import { spawnServer } from '../support/process.ts'
import { toClient } from '../support/service.ts'
import { answerOf, authorizationUrl, goThrough, WEB } from '../support/sign-in.ts'
import { createUserAgent, type Page, type UserAgent } from '../support/user-agent.ts'
import { isThere } from '../support/left-out.ts'

const one = await spawnServer(DEVICE_SETTINGS, { seed: DEVICE_SEED })
const two = await spawnBeside(one.settings, one.database)
const addresses = [one.url, `http://127.0.0.1:${two.settings['PORT']}`] as const
const web = toClient(WEB)

/** A browser whose user has allowed `web` what it asks for. */
async function allowed(agent = createUserAgent(one.url)): Promise<UserAgent> {
  await goThrough(agent, await agent.get(authorizationUrl(one)))
  return agent
}

/** At the process, without a page. */
function silently(agent: UserAgent, address: string): Promise<Page> {
  return agent.clone().get(authorizationUrl(one, { prompt: 'none' }).replace(one.url, address))
}

/** Takes the access of the first app back, on the account's page. */
async function revocation(agent: UserAgent): Promise<() => Promise<Page>> {
  const browser = agent.clone()
  const page = await browser.get(`${one.url}/account/apps`)
  return async () => browser.submit(page, 'revoke-0')
}

test('forty requests at once beside the withdrawal, many times: none of their codes is good after it', async () => {
  const agent = await allowed()
  const outcomes: Record<string, number> = {}
  for (let round = 0; round < 8; round++) {
    await allowed(agent)
    const revoke = await revocation(agent)
    const requests = (count: number): Promise<Page>[] =>
      Array.from({ length: count }, async (_, index) => silently(agent, addresses[index % 2]!))
    const before = requests(10 + round * 2)
    const revoking = revoke()
    const pages = await Promise.all([...before, ...requests(30 - round * 2)])
    expect((await revoking).status).toBe(200)
    for (const page of pages) {
      const answer = answerOf(page)
      const code = answer.get('code')
      const { error } = code === null ? { error: answer.get('error')! } : await exchangeAs(one, web, code)
      outcomes[error ?? 'tokens'] = (outcomes[error ?? 'tokens'] ?? 0) + 1
    }
  }
  expect(outcomes['tokens'] ?? 0).toBe(0)
  expect(Object.keys(outcomes).toSorted()).toEqual(['consent_required', 'invalid_grant'])
})

test.runIf(isThere('latchkey-device-code'))(
  'a device that was allowed, and then not any more before it asked, gets nothing; allowed again, it does',
  async () => {
    const person = newPerson(one)
    const asked = await ask(one)
    await allow(one, asked, person)
    const revoke = await revocation(person)
    expect((await revoke()).body).toContain('no longer has access to your account.')
    expect(await poll(two, asked)).toMatchObject({ status: 400, error: 'invalid_grant' })
    const again = await ask(one)
    await allow(one, again, person)
    expect(await poll(two, asked)).toMatchObject({ status: 400, error: 'invalid_grant' })
    expect(await poll(two, again)).toMatchObject({ status: 200, scope: 'openid read_books' })
  },
)
