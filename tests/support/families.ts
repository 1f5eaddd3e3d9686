/**
 * Families of refresh tokens whose clients go on refreshing whatever happens: who gets no answer in two seconds, or 503, sends the
 * same token again, to the next process. One that is refused a token that it was given has lost its family.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestClient } from './clients.ts'
import { codesOf, exchangeAs, refreshAs } from './code-flow.ts'
import type { Requests } from './requests.ts'
import { toClient } from './service.ts'
import { createPkce, REDIRECT_URI, SEED, WEB } from './sign-in.ts'
import { until } from './until.ts'

/** A public client. */
export const SPA = { client_id: 'spa', token_endpoint_auth_method: 'none', redirect_uris: [REDIRECT_URI] }
/** For the servers that families are of: every other one is a public client's. */
export const FAMILIES_SEED = { ...SEED, clients: [WEB, SPA] }

/** Milliseconds after which a client gives up on a request, and sends it again. */
const PATIENCE = 2000

export interface Families {
  /** What those were told that were refused, with their kind of client. */
  readonly lost: readonly string[]
  /** Waits until each has got `count` more tokens, or is lost. */
  more(count: number): Promise<void>
  stop(): Promise<void>
}

interface Family {
  token: string
  readonly client: TestClient
  got: number
  lost: boolean
}

type Server = Requests & { url: string }

/** Begins with `count` families, which refresh and try again every `pause` milliseconds. */
export async function startFamilies(servers: readonly Server[], count: number, pause = 300): Promise<Families> {
  const lost: string[] = []
  const state = { stopped: false }
  const getCode = codesOf(servers[0]!)

  async function begin(client: TestClient): Promise<string> {
    const { verifier, challenge } = createPkce()
    const code = await getCode({ client_id: client.clientId, code_challenge: challenge, code_challenge_method: 'S256' })
    const { tokens } = await exchangeAs(servers[0]!, client, code, { code_verifier: verifier })
    return tokens.refresh_token
  }

  async function live(family: Family): Promise<void> {
    for (let turn = 0; !state.stopped; turn++) {
      const { client, token } = family
      const server = servers[turn % servers.length]!
      const asking = refreshAs(server, client, token).catch(() => undefined)
      // What is answered later is told to nobody.
      const answer = await Promise.race([asking, sleep(PATIENCE, undefined)])
      if (answer?.status === 200) {
        family.token = answer.tokens.refresh_token
        family.got++
      } else if (answer !== undefined && answer.status !== 503) {
        family.lost = true
        lost.push(`${client.clientId}: ${answer.status} ${answer.error}`)
        return
      }
      await sleep(pause)
    }
  }

  const clients = [toClient(WEB), toClient({ ...SPA, client_secret: '' })]
  const families: Family[] = []
  for (let number = 0; number < count; number++) {
    const client = clients[number % 2]!
    families.push({ token: await begin(client), client, got: 0, lost: false })
  }
  const lives = Promise.all(families.map(live))
  return {
    lost,
    async more(wanted) {
      const goals = families.map((family) => ({ family, goal: family.got + wanted }))
      await until(() => {
        const short = goals.filter(({ family, goal }) => !family.lost && family.got < goal)
        if (short.length > 0) throw new Error(`${short.length} families get no tokens`)
      })
    },
    async stop() {
      state.stopped = true
      await lives
    },
  }
} // prettier-ignore
