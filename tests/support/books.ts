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

const FORMATS = ['opaque', 'jwt']
const WEBS = FORMATS.map((access_token_format) => ({
  ...WEB,
  client_id: `web with ${access_token_format}`,
  access_token_format,
}))
const SERVICES = FORMATS.map((access_token_format) => ({
  client_id: `service with ${access_token_format}`,
  client_secret: `lks_${'s'.repeat(43)}`,
  scope: ['read_shelf'],
  access_token_format,
}))
/** For the servers that books are kept of. */
export const BOOKS_SEED = { ...SEED, clients: [...WEBS, ...SERVICES] }
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
  /** Waits until something of every kind was acknowledged. */
  untilAllKinds(): Promise<void>
  /**
   * What clients hold is good, what they gave back is not, nor what a sign-out ended; what they spent stays spent, what
   * they registered is there.
   */
  assertKept(): Promise<void>
}

/** Registers a client, and says whether that is so. */
export type Register = (clientId: string) => Promise<boolean>

/** Signs somebody in at the first server, and begins. */
export async function keepBooks(
  servers: readonly (Requests & { url: string })[],
  register: Register,
): Promise<Books> {
  const agent = createUserAgent(servers[0]!.url)
  const webs = WEBS.map((one) => ({
    client: toClient(one),
    target: authorizationUrl(servers[0]!, { client_id: one.client_id }),
    living: [] as Tokens[],
    givenBack: [] as Tokens[],
    spent: [] as string[],
    signedOut: [] as { browser: UserAgent; tokens: Tokens }[],
  }))
  for (const { target } of webs) await goThrough(agent, await agent.get(target))
  const services = SERVICES.map((one) => ({
    client: toClient(one),
    good: [] as string[],
    revoked: [] as string[],
  }))
  const registered: string[] = []
  const answers = new Map<string, number>()
  const anyServer = inTurn<Requests>(servers)
  const anyWeb = inTurn(webs)
  const anyService = inTurn(services)

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

  async function useCode(): Promise<void> {
    const { client, target, living, givenBack, spent } = anyWeb()
    const page = await insist('authorize', async () => agent.get(target))
    const code = codeIn(page)
    if (code === null) throw new Error(`no code: ${page.status} ${page.body}`)
    const exchanged = await insist('code', async () => exchangeAs(anyServer(), client, code))
    // It was exchanged, though its client was not told: that ended it.
    if (exchanged.status === 400 && exchanged.again) return
    expect([exchanged.status, exchanged.error]).toEqual([200, undefined])
    let { tokens } = exchanged
    for (let times = Math.floor(Math.random() * 3); times > 0; times--) {
      const refreshed = await insist('refresh', async () =>
        refreshAs(anyServer(), client, tokens.refresh_token),
      )
      expect([refreshed.status, refreshed.error]).toEqual([200, undefined])
      tokens = refreshed.tokens
    }
    spent.push(code)
    if (living.length <= givenBack.length) return void living.push(tokens)
    const answer = await insist('revoke', async () => send(revoke(anyServer(), client, tokens.refresh_token)))
    expect(answer.status).toBe(200)
    givenBack.push(tokens)
  }

  async function useService(): Promise<void> {
    const { client, good, revoked } = anyService()
    const { status, token } = await insist('client_credentials', async () => {
      const response = await requestToken(anyServer(), client)
      const body = (await response.json()) as { access_token?: string }
      return { status: response.status, token: body.access_token ?? '' }
    })
    expect(status).toBe(200)
    if (good.length <= revoked.length) return void good.push(token)
    expect((await insist('revoke', async () => send(revoke(anyServer(), client, token)))).status).toBe(200)
    revoked.push(token)
  }

  /** Signs in, gets tokens, and signs out, which ends them. */
  async function useBrowser(): Promise<void> {
    const { client, target, signedOut } = anyWeb()
    const { browser, status, code } = await insist('sign-in', async () => {
      const browser = createUserAgent(servers[0]!.url)
      const page = await goThrough(browser, await browser.get(target))
      return { browser, status: page.status, code: codeIn(page) }
    })
    expect([status, code]).toEqual([303, expect.any(String)])
    const exchanged = await insist('code', async () => exchangeAs(anyServer(), client, code!))
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
  const load = underLoad(async () => journeys[next++ % journeys.length]!(), 6)

  async function assertLife(client: TestClient, tokens: readonly Tokens[], life: object): Promise<void> {
    await each(tokens, async (one) => expect(await lifeOf(anyServer(), client, one)).toEqual(life))
  }

  async function assertSpent(client: TestClient, codes: readonly string[]): Promise<void> {
    await each(codes, async (code) => expect((await exchangeAs(anyServer(), client, code)).status).toBe(400))
  }

  /** A signed token's revocation is known to the other process within two seconds. */
  async function assertActive(client: TestClient, tokens: readonly string[], active: boolean): Promise<void> {
    await each(tokens, async (token) => {
      const server = anyServer()
      await expect.poll(async () => isActive(server, client, token)).toBe(active)
    })
  }

  /** Of what nothing was acknowledged so far. */
  function missing(): string[] {
    const kinds = [...webs, ...services].flatMap(({ client, ...kinds }) =>
      Object.entries(kinds).map(([kind, all]) => [`${client.clientId}: ${kind}`, all] as const),
    )
    return [...kinds, ['registered', registered] as const]
      .filter(([, all]) => Array.isArray(all) && all.length === 0)
      .map(([kind]) => kind)
  }

  return {
    load,
    answers,
    async untilAllKinds() {
      while (missing().length > 0) await load.more(1)
    },
    async assertKept() {
      for (const { client, good, revoked } of services) {
        await assertActive(client, good, true)
        await assertActive(client, revoked, false)
      }
      for (const { client, target, living, givenBack, signedOut, spent } of webs) {
        await assertLife(client, living, ALIVE)
        await assertLife(client, givenBack, DEAD)
        const ended = signedOut.map(({ tokens }) => tokens)
        await assertLife(client, ended, DEAD)
        await each(signedOut, async ({ browser }) =>
          expect(findForm(await browser.get(target), 'login')).toBeDefined(),
        )
        expect(codeIn(await agent.get(target))).not.toBeNull()
        await assertSpent(client, spent.slice(-10))
      }
      await each(registered, async (clientId) => expect(await register(clientId)).toBe(true))
      expect(missing()).toEqual([])
      const wrong = [...answers.keys()].filter((answer) => /5\d\d$/.test(answer) && !answer.endsWith('503'))
      expect(wrong).toEqual([])
    },
  }
}

/** The first, the next, and so on, for ever. */
function inTurn<T>(all: readonly T[]): () => T {
  let turn = 0
  return () => all[turn++ % all.length]!
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
