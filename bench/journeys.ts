// Owns what clients and people do all day, for load that lasts: each journey is some requests whose answers are checked,
// and how often it is done in a hundred.

import { scope } from './contestant.ts'
import { userClient, type Started } from './contestants/latchkey-server.ts'
import { form, postWell } from './requests.ts'
import { getUserinfo, passPages, signIn } from './user-client.ts'

export interface Journey {
  name: string
  /** Of a hundred journeys. */
  share: number
  go: () => Promise<void>
}

/** So many families of refresh tokens, each refreshed by one journey at a time. */
const families = 200

export async function journeysOf(server: Started): Promise<Journey[]> {
  const { port } = server
  const machine = await server.createClient('jwt')
  const client = userClient(
    server,
    await server.createWebClient('jwt', 'ES256'),
    await server.createUser('bench'),
  )
  const person = await signIn(client)
  const { client_id, client_secret } = machine
  const ofUser = { client_id: client.clientId, client_secret: client.clientSecret }

  const grant = form({ grant_type: 'client_credentials', client_id, client_secret, scope })
  const issue = async () => String((await postWell(port, '/token', grant))['access_token'])
  const isActive = async (token: string) =>
    (await postWell(port, '/introspect', form({ client_id, client_secret, token })))['active']
  const recent = [await issue()]
  const bearers = await person.getAccessTokens(64)
  const refreshTokens = await person.getRefreshTokens(families)

  return [
    {
      name: 'client_credentials',
      share: 35,
      go: async () => {
        recent[recent.length < 256 ? recent.length : Math.floor(Math.random() * 256)] = await issue()
      },
    },
    {
      name: 'introspection',
      share: 25,
      go: async () => assert((await isActive(pick(recent))) === true, 'a good token is not active'),
    },
    { name: 'userinfo', share: 15, go: async () => getUserinfo(port, pick(bearers)) },
    {
      name: 'refresh',
      share: 12,
      go: async () => {
        const answer = await person.refresh(refreshTokens.shift() ?? '')
        refreshTokens.push(String(answer['refresh_token']))
        bearers[Math.floor(Math.random() * bearers.length)] = String(answer['access_token'])
      },
    },
    { name: 'discovery', share: 5, go: async () => discovery(port) },
    {
      name: 'code',
      share: 5,
      go: async () => {
        const [code = ''] = await person.getCodes(1)
        assert(typeof (await person.exchange(code))['id_token'] === 'string', 'no ID token')
      },
    },
    {
      name: 'revocation',
      share: 2.8,
      go: async () => {
        const token = await issue()
        await postWell(port, '/revoke', form({ client_id, client_secret, token }))
        assert((await isActive(token)) === false, 'a revoked token is active')
      },
    },
    {
      name: 'revocation of a family',
      share: 0.1,
      go: async () => {
        const [token = ''] = await person.getRefreshTokens(1)
        await postWell(port, '/revoke', form({ ...ofUser, token }))
      },
    },
    { name: 'sign-in', share: 0.1, go: async () => void (await passPages(client)) },
  ]
}

async function discovery(port: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/.well-known/openid-configuration`)
  const { jwks_uri } = (await response.json()) as Record<string, unknown>
  assert(typeof jwks_uri === 'string', `discovery answered ${response.status}`)
}

function pick(tokens: readonly string[]): string {
  return tokens[Math.floor(Math.random() * tokens.length)]!
}

function assert(fine: boolean, problem: string): void {
  if (!fine) throw new Error(problem)
}
