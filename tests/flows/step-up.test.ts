/**
 * Step-up, end to end (RFC 9470): an API that wants more of the sign-in than it was, the sample app, which follows its challenge, a person
 * with an authenticator app, and the call that works then.
 */
import type { FastifyInstance } from 'fastify'
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { buildApp } from '../../examples/sample-web-app/app.ts'
import requireScope from '../../plugins/require-scope/index.ts'
import { codeOf } from '../support/authenticator.ts'
import { noBrowser, textOf } from '../support/browser.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { newPerson, signIn } from '../support/people.ts'
import { basic, bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { ALICE, BOB, getTokens, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { age } from '../plugins/account/owner.ts'
import Fastify from 'fastify'
import { isThere } from '../support/left-out.ts'

const origin = `http://localhost:${await freePort()}`
const SAMPLE = {
  ...WEB,
  client_id: 'sample',
  redirect_uri: `${origin}/callback`,
  post_logout_redirect_uris: [`${origin}/`],
}
const OPAQUE = { ...WEB, client_id: 'web', access_token_format: 'opaque' }
const books = async () => ({ books: [{ title: 'Emma', author: 'Jane Austen' }] })

function addApi(app: FastifyInstance): void {
  app.get('/books', { onRequest: app.requireScope('read_books', { acr: '2', maxAge: 300 }) }, books)
}

const server = await startServer({}, { seed: { ...SEED, clients: [OPAQUE, SAMPLE] }, extend: addApi })
const { oauth } = server.server

describe('tokens say how their person signed in', () => {
  test('opaque ones by introspection, and a refreshed one what it was; a service’s say nothing', async () => {
    const { access_token, refresh_token } = await getTokens(server, { scope: 'openid offline_access' })
    const tell = async (token: string): Promise<Record<string, unknown>> =>
      (await (await server.post('/introspect', { token }, basic('web', WEB.client_secret))).json()) as Record<string, unknown>
    const { acr, auth_time } = await tell(access_token)
    expect([acr, Math.abs(Number(auth_time) - Date.now() / 1000) < 60]).toEqual(['1', true])
    const form = { grant_type: 'refresh_token', refresh_token }
    const again = await server.post('/token', form, basic('web', WEB.client_secret))
    const { access_token: next } = (await again.json()) as { access_token: string }
    expect(await tell(next)).toMatchObject({ acr, auth_time })
    const service = await server.post('/token', { grant_type: 'client_credentials' }, basic('sample', WEB.client_secret))
    const { access_token: own } = (await service.json()) as { access_token: string }
    expect(decodeJwt(own)).not.toHaveProperty('acr')
    expect(decodeJwt(own)).not.toHaveProperty('auth_time')
    const refused = await server.get('/books', bearer(own))
    expect([refused.status, await refused.json()]).toMatchObject([401, { error: 'insufficient_user_authentication' }])
  }) // prettier-ignore

  test('JWTs by themselves, for an app elsewhere', async () => {
    await oauth.clients.update('web', { access_token_format: 'jwt' })
    const app = Fastify()
    atEndOfFile(async () => app.close())
    await app.register(requireScope, { issuer: server.url })
    app.get(
      '/any',
      { onRequest: app.requireScope({ acr: '1', maxAge: 60 }) },
      async ({ token }) => token.claims,
    )
    app.get('/more', { onRequest: app.requireScope({ acr: '2' }) }, async () => 'ok')
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { access_token } = await getTokens(server, {}, createUserAgent(server.url))
    const any = await app.inject({ url: '/any', headers: bearer(access_token) })
    expect(any.json()).toMatchObject({ acr: '1', auth_time: expect.any(Number) as number })
    expect((await app.inject({ url: '/more', headers: bearer(access_token) })).statusCode).toBe(401)
  })
})

describe.skipIf(noBrowser || !isThere('latchkey-second-factor'))('the sample app', () => {
  test.each([
    ['with scripts', ALICE, true],
    ['without scripts', BOB, false],
  ])('%s follows the challenge of the API, and shows the books', async (_how, user, javaScriptEnabled) => {
    const person = await newPerson({ javaScriptEnabled })
    const { page } = person
    const shownBooks = async (): Promise<string | null> => page.locator('.books').textContent()
    await page.goto(origin)
    await page.click('#log-in')
    await signIn(person, user)
    await page.click('#allow')
    await page.waitForURL(`${origin}/`)
    // The password alone was enough so far. The API wants more, so an authenticator app is set up on the way.
    await page.click('text=Show my books')
    const secret = await textOf(page, '#totp-secret')
    await page.fill('#code', codeOf(secret))
    await page.click('#verify')
    await page.click('#continue')
    await page.waitForURL(`${origin}/books`)
    expect(await shownBooks()).toContain('Emma')
    // An hour later it wants to know again.
    await age(server, 3600)
    await server.database.query(`update authorizations set authentication =
      jsonb_set(authentication, '{time}', to_jsonb((extract(epoch from now()) * 1000 - 3600000)::bigint))`)
    await page.goto(`${origin}/`)
    await page.click('#refresh')
    await page.waitForSelector('[role=status]')
    await page.click('text=Show my books')
    await signIn(person, user)
    await page.fill('#code', codeOf(secret, 1))
    await page.click('#verify')
    await page.waitForURL(`${origin}/books`)
    expect(await shownBooks()).toContain('Emma')
  })
})

const sample = buildApp({
  origin,
  issuer: new URL(server.url),
  clientId: SAMPLE.client_id,
  clientSecret: SAMPLE.client_secret,
  books: new URL(`${server.url}/books`),
})
await sample.listen({ host: '127.0.0.1', port: Number(new URL(origin).port) })
atEndOfFile(async () => sample.close())
