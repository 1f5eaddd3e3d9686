/**
 * Clients of every grant at work while things break, and the books of what they were told: what was acknowledged must
 * hold, what was cut off they send again until they have an answer.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { ALIVE, DEAD, exchangeAs, lifeOf, refreshAs } from './code-flow.ts'
import { requestToken, type TestClient } from './clients.ts'
import { type Load, underLoad } from './load.ts'
import type { Requests } from './requests.ts'
import { isActive, revoke, statusOf, toClient } from './service.ts'
import { authorizationUrl, goThrough, SEED, type Tokens, WEB } from './sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from './user-agent.ts'

const SERVICES = ['opaque', 'jwt'].map((access_token_format) => ({
  client_id: `service of ${access_token_format}`,
  client_secret: `lks_${'s'.repeat(43)}`,
  scope: ['read_shelf'],
  access_token_format,
}))
/** For the servers that books are kept of. */
export const BOOKS_SEED = { ...SEED, clients: [WEB, ...SERVICES] }
export const BOOKS_SETTINGS = {
  // Whoever was cut off comes back when it is over.
  OIDC_REFRESH_REUSE_INTERVAL: 600,
  OIDC_CODE_EXPIRE: 600,
  OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false,
}

export interface Books {
  load: Load<void>
  /** How often which answer came, such as `refresh 503`; `cut` for none. */
  answers: ReadonlyMap<string, number>
  /** What clients hold is good, what they gave back is not, what they spent stays spent, what they registered is there. */
  assertKept(): Promise<void>
}

/** Registers a client, and says whether that is so. */
export type Register = (clientId: string) => Promise<boolean>

/** Signs somebody in at the first server, and begins. */
export async function keepBooks(
  servers: readonly (Requests & { url: string })[],
  register: Register,
  width = 6,
): Promise<Books> {
  const web = toClient(WEB)
  const agent = createUserAgent(servers[0]!.url)
  const target = authorizationUrl(servers[0]!)
  await goThrough(agent, await agent.get(target))
  const living: Tokens[] = []
  const givenBack: Tokens[] = []
  const spent: string[] = []
  const services = SERVICES.map((one) => ({
    client: toClient(one),
    good: [] as string[],
    revoked: [] as string[],
  }))
  const signedOut: { browser: UserAgent; tokens: Tokens }[] = []
  const registered: string[] = []
  const answers = new Map<string, number>()
  let turn = 0
  const anyServer = (): Requests => servers[turn++ % servers.length]!

  /** Asks again while there is no answer, or 503; returns the answer, and whether one before it may have been lost. */
  async function insist<T extends { status: number }>(
    what: string,
    ask: () => Promise<T>,
  ): Promise<T & { again: boolean }> {
    for (let again = false; ; again = true) {
      const answer = await ask().catch(() => undefined)
      const told = `${what} ${answer?.status ?? 'cut'}`
      answers.set(told, (answers.get(told) ?? 0) + 1)
      if (answer !== undefined && answer.status !== 503) return { ...answer, again }
      await sleep(20)
    }
  }

  async function getCode(): Promise<string> {
    const page = await insist('authorize', async () => agent.get(target))
    const code = codeIn(page)
    if (code === null) throw new Error(`no code: ${page.status} ${page.body}`)
    return code
  }

  async function useCode(): Promise<void> {
    const code = await getCode()
    const exchanged = await insist('code', async () => exchangeAs(anyServer(), web, code))
    // It was exchanged, though its client was not told: that ended it.
    if (exchanged.status === 400 && exchanged.again) return
    expect([exchanged.status, exchanged.error]).toEqual([200, undefined])
    let { tokens } = exchanged
    for (let times = Math.floor(Math.random() * 3); times > 0; times--) {
      const refreshed = await insist('refresh', async () => refreshAs(anyServer(), web, tokens.refresh_token))
      expect([refreshed.status, refreshed.error]).toEqual([200, undefined])
      tokens = refreshed.tokens
    }
    spent.push(code)
    if (Math.random() < 0.5) return void living.push(tokens)
    const answer = await insist('revoke', async () => send(revoke(anyServer(), web, tokens.refresh_token)))
    expect(answer.status).toBe(200)
    givenBack.push(tokens)
  }

  async function useService(): Promise<void> {
    const { client, good, revoked } = services[turn++ % services.length]!
    const { status, token } = await insist('client_credentials', async () => {
      const response = await requestToken(anyServer(), client)
      const body = (await response.json()) as { access_token?: string }
      return { status: response.status, token: body.access_token ?? '' }
    })
    expect(status).toBe(200)
    if (Math.random() < 0.5) return void good.push(token)
    expect((await insist('revoke', async () => send(revoke(anyServer(), client, token)))).status).toBe(200)
    revoked.push(token)
  }

  /** Signs in, gets tokens, and signs out, which ends them. */
  async function useBrowser(): Promise<void> {
    const { browser, status, code } = await insist('sign-in', async () => {
      const browser = createUserAgent(servers[0]!.url)
      const page = await goThrough(browser, await browser.get(target))
      return { browser, status: page.status, code: codeIn(page) }
    })
    expect([status, code]).toEqual([303, expect.any(String)])
    const exchanged = await insist('code', async () => exchangeAs(anyServer(), web, code!))
    if (exchanged.status === 400 && exchanged.again) return
    expect(exchanged.status).toBe(200)
    const before = browser.clone()
    const signOut = `${servers[0]!.url}/end-session?id_token_hint=${exchanged.tokens.id_token}`
    expect((await insist('sign-out', async () => browser.get(signOut))).status).toBe(200)
    signedOut.push({ browser: before, tokens: exchanged.tokens })
  }

  async function useRegistry(): Promise<void> {
    const clientId = randomUUID()
    await insist('register', async () => ({ status: (await register(clientId)) ? 201 : 503 }))
    registered.push(clientId)
  }

  const journeys = [
    useCode, useService, useCode, useService, useRegistry, useCode, useService, useCode, useService, useBrowser,
  ] // prettier-ignore
  let next = 0
  const load = underLoad(async () => journeys[next++ % journeys.length]!(), width)

  async function assertLife(tokens: readonly Tokens[], life: object): Promise<void> {
    await each(tokens, async (one) => expect(await lifeOf(anyServer(), web, one)).toEqual(life))
  }

  /** A signed token's revocation is known to the other process within two seconds. */
  async function assertActive(client: TestClient, tokens: readonly string[], active: boolean): Promise<void> {
    await each(tokens, async (token) => {
      const server = anyServer()
      await expect.poll(async () => isActive(server, client, token)).toBe(active)
    })
  }

  return {
    load,
    answers,
    async assertKept() {
      for (const { client, good, revoked } of services) {
        await assertActive(client, good, true)
        await assertActive(client, revoked, false)
      }
      await assertLife(living, ALIVE)
      await assertLife(givenBack, DEAD)
      await each(signedOut, async ({ browser }) =>
        expect(findForm(await browser.get(target), 'login')).toBeDefined(),
      )
      await assertLife(
        signedOut.map(({ tokens }) => tokens),
        DEAD,
      )
      expect(codeIn(await agent.get(target))).not.toBeNull()
      await each(registered, async (clientId) => expect(await register(clientId)).toBe(true))
      await each(spent.slice(-10), async (code) =>
        expect((await exchangeAs(anyServer(), web, code)).status).toBe(400),
      )
      const kept = [
        living,
        givenBack,
        signedOut,
        registered,
        ...services.flatMap(({ good, revoked }) => [good, revoked]),
      ]
      for (const what of kept) expect(what).not.toEqual([])
      const wrong = [...answers.keys()].filter((answer) => /5\d\d$/.test(answer) && !answer.endsWith('503'))
      expect(wrong).toEqual([])
    },
  }
}

/** Some at a time. */
async function each<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const waiting = [...all]
  const lane = async (): Promise<void> => {
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) await work(one)
  }
  await Promise.all(Array.from({ length: 6 }, lane))
}

function codeIn({ headers, url }: Page): string | null {
  return new URL(headers.get('location') ?? '', url).searchParams.get('code')
}

async function send(answer: Promise<Response>): Promise<{ status: number }> {
  return { status: await statusOf(answer) }
} // prettier-ignore
