/** All that SECRET_KEY seals, made by a server as it comes to be: for tests that take the key away. */
import { Type } from '../../src/protocol/schema.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { signedIn } from '../plugins/account/owner.ts'
import { ADMINISTRATION } from '../security/forms.ts'
import { setUpFactor } from './authenticator.ts'
import { createClient } from './clients.ts'
import type { TestDatabase } from './database.ts'
import { push } from './pushed.ts'
import { startServer, type TestServer } from './server.ts'
import { ALICE, authorizationUrl, BOB, SEED } from './sign-in.ts'
import { answerFrom, seedOf, traveller, type Upstream } from './upstreams.ts'
import { createUserAgent, type UserAgent } from './user-agent.ts'

/** Who signs in by an upstream. */
export const CAROL = {
  username: 'carol',
  password: 'a third long password',
  email: 'carol@example.com',
  email_verified: true,
}
/** The server of the test, with a plugin of a stranger's that keeps sealed records. */
export const startUnder = async (
  SECRET_KEY: string,
  port: number,
  database: TestDatabase,
  upstream: Upstream,
) =>
  startServer(
    {
      PORT: port,
      // Passkeys want a name.
      OIDC_ISSUER: `http://localhost:${port}`,
      SECRET_KEY,
      OIDC_REGISTRATION: 'open',
      OIDC_SIGN_UP: 'on',
      OIDC_SESSION_MANAGEMENT: true,
      OIDC_JANITOR_INTERVAL: 0,
      UNSAFE_OUTBOUND_ORIGINS: new URL(upstream.issuer).origin,
    },
    {
      database,
      seed: { ...SEED, users: [ALICE, BOB, CAROL], upstreams: [seedOf(upstream)] },
      extend({ oauth, pages }) {
        const kept = oauth.records<{ word: string }>('stranger', { sealed: true })
        const ofUsers = oauth.users.records<{ word: string }>('stranger', { sealed: true })
        pages.serve({
          path: '/stranger-page',
          query: Type.Object({}),
          async show(_query, { reply }) {
            await kept.get('one')
            return reply.redirect('/')
          },
        })
        const endpoint = {
          metadata: 'a',
          client: false,
          cors: true,
          parameters: Type.Object({ user: Type.Optional(Type.String()) }),
        } as const
        oauth.registerEndpoint({
          ...endpoint,
          caller: 'anybody',
          path: '/stranger',
          metadata: 'stranger_endpoint',
          async handle({ user }) {
            if (user !== undefined) await ofUsers.put(user, 'one', { word: 'sealed' })
            await kept.put('one', { word: 'sealed' })
            const found = user === undefined ? await kept.get('one') : await ofUsers.get(user, 'one')
            return { word: found?.value.word ?? null }
          },
        })
      },
    },
  )

/** One of each thing that is stored under SECRET_KEY, as it comes to be. */
export async function makeSealed(server: TestServer, upstream: Upstream) {
  const { users, clients } = server.server.oauth
  const kernel = kernelOf(server.server)
  const alice = await signedIn(server, ALICE)
  const factor = await setUpFactor(alice, server.url)
  const { id: bob } = (await users.find('bob'))!
  const who = traveller(server, upstream)
  const left = await who.here.get(
    await answerFrom(who, await who.here.get(authorizationUrl(server)), 'corp', CAROL),
  )
  await who.here.submit(left, 'consent', { decision: 'allow' })
  const onTheWay = traveller(server, upstream)
  const arriving = await answerFrom(
    onTheWay,
    await onTheWay.here.get(authorizationUrl(server)),
    'corp',
    CAROL,
  )
  const interaction = createUserAgent(server.url)
  const secretForm = await ADMINISTRATION['new client'].open(server)
  const registered = await server.request('/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['https://app.example/callback'] }),
  })
  await server.post('/stranger', {})
  await server.post('/stranger', { user: bob })
  const { token: invited } = (await kernel.invitations.invite(
    (await users.create({ username: 'dora', email: 'dora@example.com' })).id,
  ))!
  return {
    alice,
    factor,
    bob,
    who,
    onTheWay,
    arriving,
    interaction,
    page: await interaction.get(authorizationUrl(server)),
    pushed: await push(server),
    hashed: await createClient(server, { scope: ['a'], grant_types: ['client_credentials'] }),
    sealed: await createClient(server, {
      scope: ['a'],
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'client_secret_jwt',
    }),
    registered: (await registered.json()) as Record<string, string>,
    secretForm,
    shownOnce: await shownBehind(server, secretForm),
    links: {
      '/reset-password': await kernel.passwordResets.make(bob, '', BOB.email),
      '/invitation': invited,
      '/confirm-email': await kernel.emailLinks.make(bob, 'bob@new.example'),
      '/set-password': new URL((await kernel.passwordLinks.make(bob)).address).searchParams.get('token')!,
    },
    clients,
  }
}

/** The address of the page that shows a secret once, not opened yet. */
async function shownBehind(
  server: TestServer,
  {
    agent,
    action,
    fields,
  }: {
    agent: UserAgent
    action: string
    fields: Record<string, string>
  },
): Promise<string> {
  const cookie = [...agent.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const response = await fetch(action, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      cookie,
      origin: server.url,
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams(fields).toString(),
  })
  return new URL(response.headers.get('location')!, server.url).href
}
