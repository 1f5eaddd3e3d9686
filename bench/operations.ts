// Owns the operations whose costs are told one by one: what each needs, made before, and the request itself, whose answer
// is checked.

import { scope } from './contestant.ts'
import { userClient, type Started } from './contestants/latchkey-server.ts'
import { form, post, postWell } from './requests.ts'
import { getUserinfo, passPages, signIn } from './user-client.ts'

export interface Operation {
  name: string
  count: number
  /** Makes so many, outside the measurement. */
  prepare: (count: number) => Promise<(() => Promise<unknown>)[]>
}

export async function operationsOf(server: Started): Promise<Operation[]> {
  const { port } = server
  const machine = await server.createClient('jwt')
  const client = userClient(
    server,
    await server.createWebClient('jwt', 'ES256'),
    await server.createUser('bench'),
  )
  const person = await signIn(client)
  const { client_id, client_secret } = machine
  const grant = form({ grant_type: 'client_credentials', client_id, client_secret, scope })
  const ofWeb = { client_id: client.clientId, client_secret: client.clientSecret }
  const [bearer = ''] = await person.getAccessTokens(1)

  const same = async (count: number, work: () => Promise<unknown>) =>
    Array.from({ length: count }, () => work)
  return [
    { name: 'sign-in', count: 200, prepare: async (count) => same(count, async () => passPages(client)) },
    {
      name: 'code, already signed in',
      count: 1000,
      prepare: async (count) => same(count, async () => person.getCodes(1)),
    },
    {
      name: 'code exchange',
      count: 1000,
      prepare: async (count) =>
        (await person.getCodes(count)).map((code) => async () => person.exchange(code)),
    },
    {
      name: 'refresh',
      count: 1000,
      prepare: async (count) =>
        (await person.getRefreshTokens(count)).map((token) => async () => person.refresh(token)),
    },
    {
      name: 'client_credentials',
      count: 2000,
      prepare: async (count) => same(count, async () => postWell(port, '/token', grant)),
    },
    {
      name: 'introspection',
      count: 2000,
      prepare: async (count) => same(count, async () => introspect(port, form({ ...ofWeb, token: bearer }))),
    },
    {
      name: 'userinfo',
      count: 2000,
      prepare: async (count) => same(count, async () => getUserinfo(port, bearer)),
    },
    {
      name: 'revocation of a refresh token',
      count: 500,
      prepare: async (count) => {
        const revoke = async (token: string) => post(port, '/revoke', form({ ...ofWeb, token }))
        return (await person.getRefreshTokens(count)).map((token) => async () => {
          const { status } = await revoke(token)
          if (status !== 200) throw new Error(`/revoke answered ${status}`)
        })
      },
    },
  ]
}

async function introspect(port: number, body: string): Promise<void> {
  const { active } = await postWell(port, '/introspect', body)
  if (active !== true) throw new Error('a good token is not active')
}

/** Eight at a time. */
export async function runAll(work: readonly (() => Promise<unknown>)[]): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < work.length) await work[next++]!()
  }
  await Promise.all(Array.from({ length: 8 }, worker))
}
