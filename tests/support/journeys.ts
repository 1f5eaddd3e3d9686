/** What clients and people do all day, over and over: each kind of request once, and what went wrong as words. */
import { codesOf, exchangeAs, refreshAs } from './code-flow.ts'
import { type TestClient, requestToken } from './clients.ts'
import { bearer, type Requests } from './requests.ts'
import { statusOf, toClient } from './service.ts'
import { SEED, WEB } from './sign-in.ts'

const SERVICE = { client_id: 'service', client_secret: `lks_${'s'.repeat(43)}`, scope: ['read_shelf'] }

/** For a server that `journeysOf` is used on. */
export const JOURNEY_SEED = { ...SEED, clients: [WEB, SERVICE] }

export type Journey = 'client_credentials' | 'refresh' | 'code' | 'userinfo' | 'discovery'

export interface Step {
  journey: Journey
  /** `ok`, or what was wrong. */
  outcome: string
}

/**
 * Signs somebody in; returns the next step of the next journey, each time it is called, also side by side. Each refresh
 * token is used once, by one of them, as a client does that waits for the answer.
 */
export async function journeysOf(server: Requests & { url: string }): Promise<() => Promise<Step>> {
  const web: TestClient = toClient(WEB)
  const getCode = codesOf(server)
  const service = toClient(SERVICE)
  const refreshTokens: string[] = []
  const accessTokens: string[] = []

  async function takeTokens(answer: ReturnType<typeof exchangeAs>): Promise<string> {
    const { status, error, tokens } = await answer
    if (status !== 200) return `${status} ${error}`
    refreshTokens.push(tokens.refresh_token)
    accessTokens.push(tokens.access_token)
    if (accessTokens.length > 20) accessTokens.shift()
    return 'ok'
  }

  const expecting = async (answer: Promise<Response>): Promise<string> => {
    const status = await statusOf(answer)
    return status === 200 ? 'ok' : String(status)
  }

  const code = async (): Promise<string> => takeTokens(exchangeAs(server, web, await getCode()))
  const journeys: Record<Journey, () => Promise<string>> = {
    client_credentials: async () => expecting(requestToken(server, service)),
    code,
    refresh: async () => {
      const token = refreshTokens.shift()
      return token === undefined ? code() : takeTokens(refreshAs(server, web, token))
    },
    userinfo: async () => {
      const token = accessTokens.at(-1)
      return token === undefined ? code() : expecting(server.get('/userinfo', bearer(token)))
    },
    discovery: async () => expecting(server.get('/.well-known/openid-configuration')),
  }

  const first = await code()
  if (first !== 'ok') throw new Error(`nobody can sign in: ${first}`)
  const order = Object.keys(journeys) as Journey[]
  let turn = 0
  return async () => {
    const journey = order[turn++ % order.length]!
    const outcome = await journeys[journey]().catch(
      (error: Error) => `${error.message} ${error.cause instanceof Error ? error.cause.message : ''}`,
    )
    return { journey, outcome }
  }
}
