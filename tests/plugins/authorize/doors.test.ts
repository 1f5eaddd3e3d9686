/** The doors of the authorization endpoint, as a plugin of somebody else uses them. */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, answerOf, authorizationUrl, exchange, SEED, type Tokens } from '../../support/sign-in.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'

/** A second factor, of the simplest kind. */
async function addPin(server: FastifyInstance): Promise<void> {
  const pages = server.pages as unknown as { add(name: string, file: URL, options: object): Promise<void> }
  await pages.add('pin', new URL('pin.eta', import.meta.url), { kind: 'interaction' })
  server.oauth.add('interactionStep', {
    name: 'pin',
    required: 'interaction_required',
    run: async ({ session, notes }) => {
      const proven = (notes['pin'] as { sid?: string } | undefined)?.sid === session?.sid
      return proven ? 'done' : { page: 'pin', model: { wrong: false } }
    },
    submit: async ({ session }, { pin }) => {
      if (pin === '0000') throw new OAuthError('access_denied', 'nobody has this PIN')
      if (pin !== '1234') return { page: 'pin', model: { wrong: true }, status: 403 }
      return { note: { sid: session!.sid } }
    },
  })
}

function addTenant({ oauth }: FastifyInstance): void {
  oauth.add('parameter', {
    name: 'tenant',
    schema: Type.String({ maxLength: 20 }),
    kept: true,
    parse(raw) {
      if (raw === 'nowhere') throw new OAuthError('invalid_request', 'there is no such tenant')
      return raw
    },
    consent: (value) => [{ key: String(value), text: `For the tenant ${String(value)}` }],
  })
  oauth.extend('id_token', ['tenant'], async ({ parameters }) => ({
    tenant: parameters?.['tenant'],
    sub: 'mallory',
  }))
  oauth.extend('userinfo', ['tenant'], async ({ parameters }) => ({
    tenant: parameters?.['tenant'],
    sub: 'mallory',
  }))
  oauth.register('responseMode', 'hash', {
    inQuery: false,
    send: (reply, { redirectUri }, answer) =>
      reply.redirect(
        `${redirectUri}#${new URLSearchParams(answer as Record<string, string>).toString()}`,
        303,
      ),
  })
}

const server = await startServer(
  {},
  {
    seed: SEED,
    extend: async (instance) => {
      await addPin(instance)
      addTenant(instance)
    },
  },
)

/** Signs in and allows; what comes then is the step that was added. */
async function upToPin(parameters: Record<string, string> = {}) {
  const agent = createUserAgent(server.url)
  const login = await agent.get(authorizationUrl(server, { prompt: 'consent', ...parameters }))
  const consent = await agent.submit(login, 'login', { username: ALICE.username, password: ALICE.password })
  const page = await agent.submit(consent, 'consent', { decision: 'allow' })
  return { agent, consent, page }
}

test('a step of its own is asked after ours, may ask again, and nothing is answered before it is done', async () => {
  const { agent, page } = await upToPin()
  expect(findForm(page, 'pin')).toBeDefined()
  const wrong = await agent.submit(page, 'pin', { pin: '1' })
  expect([wrong.status, wrong.body]).toEqual([403, expect.stringContaining('id="pin-error"')])
  expect(answerOf(await agent.submit(wrong, 'pin', { pin: '1234' })).get('code')).toMatch(/^[\w-]{64}$/)
})

test('what it refuses goes to the client', async () => {
  const { agent, page } = await upToPin()
  const answer = answerOf(await agent.submit(page, 'pin', { pin: '0000' }))
  expect(Object.fromEntries(answer)).toMatchObject({
    error: 'access_denied',
    state: 'a state',
    iss: server.url,
  })
})

test('its form belongs to its step: it does not stand for another, nor another for it', async () => {
  const agent = createUserAgent(server.url)
  const login = await agent.get(authorizationUrl(server))
  const form = findForm(login, 'login')!
  const skipped = await agent.post(form.action.replace('/login?', '/pin?'), { ...form.fields, pin: '1234' })
  expect(findForm(skipped, 'login')).toBeDefined()
})

test('prompt=none ends with the error that the step names', async () => {
  const { agent, page } = await upToPin()
  await agent.submit(page, 'pin', { pin: '1234' })
  const silent = answerOf(await agent.get(authorizationUrl(server, { prompt: 'none' })))
  expect(silent.get('error')).toBe('interaction_required')
})

test('a parameter of its own is on the consent page, in what comes of it, and replaces nothing of ours', async () => {
  const { agent, consent, page } = await upToPin({ tenant: 'acme', scope: 'openid' })
  expect(consent.body).toContain('For the tenant acme')
  const code = answerOf(await agent.submit(page, 'pin', { pin: '1234' })).get('code')!
  const tokens = (await (await exchange(server, code)).json()) as Tokens
  const { id: sub } = (await server.server.oauth.users.find(ALICE.username))!
  expect(decodeJwt(tokens.id_token)).toMatchObject({ tenant: 'acme', sub })
  const userinfo = await server.get(`/userinfo?access_token=${tokens.access_token}`)
  expect(await userinfo.json()).toMatchObject({ tenant: 'acme', sub })
})

test('what it refuses of its parameter goes to the client, and so does what is too long', async () => {
  const agent = createUserAgent(server.url)
  for (const tenant of ['nowhere', 'x'.repeat(21)]) {
    const answer = answerOf(await agent.get(authorizationUrl(server, { tenant })))
    expect(answer.get('error')).toBe('invalid_request')
  }
})

test('a response mode of its own carries answers and errors, and is in the metadata', async () => {
  const refused = await createUserAgent(server.url).get(
    authorizationUrl(server, { response_mode: 'hash', prompt: 'none' }),
  )
  const { hash, search } = new URL(refused.headers.get('location')!)
  expect([search, new URLSearchParams(hash.slice(1)).get('error')]).toEqual(['', 'login_required'])
  const metadata = await (await server.get('/.well-known/openid-configuration')).json()
  expect(metadata).toMatchObject({
    response_modes_supported: [
      'query',
      'fragment',
      'form_post',
      'query.jwt',
      'fragment.jwt',
      'form_post.jwt',
      'jwt',
      'hash',
    ],
  })
})
