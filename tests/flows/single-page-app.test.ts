/** A single-page app on another port of the same site, in Chromium: sign-in by popup, renewal in a hidden frame. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, resolve } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { BrowserContext, Page } from 'playwright-core'
import { newBrowserContext, noBrowser } from '../support/browser.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createClient } from '../support/clients.ts'
import { startServer } from '../support/server.ts'
import { ALICE, SEED, type Tokens } from '../support/sign-in.ts'

const FILES = resolve(import.meta.dirname, '../strangers/single-page-app')
const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' }

interface Outcome {
  tokens: Tokens
  userinfo: { sub: string; email: string }
  error?: string
}

/** Serves the app's three files; returns the origin. */
async function serveApp(): Promise<string> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://localhost')
    const file = pathname === '/' ? '/index.html' : pathname
    readFile(FILES + file).then(
      (content) => response.setHeader('content-type', TYPES[extname(file)]!).end(content),
      () => response.writeHead(404).end(),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEndOfFile(async () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe.skipIf(noBrowser)('a single-page app', () => {
  let context: BrowserContext
  let page: Page
  let first: Outcome

  /** Signs in by the popup's pages, as a person does. */
  async function signIn(): Promise<Outcome> {
    const opening = page.waitForEvent('popup')
    const signingIn = page.evaluate<Outcome>('signIn()')
    const popup = await opening
    await popup.fill('#username', ALICE.username)
    await popup.fill('#password', ALICE.password)
    await popup.click('#sign-in')
    await popup.click('#allow')
    return signingIn
  }

  beforeAll(async () => {
    const server = await startServer({}, { seed: SEED })
    const origin = await serveApp()
    const { clientId } = await createClient(server, {
      redirect_uris: [`${origin}/callback.html`],
      token_endpoint_auth_method: 'none',
    })
    context = await newBrowserContext()
    page = await context.newPage()
    await page.goto(
      `${origin}/?${new URLSearchParams({ issuer: server.url, client_id: clientId }).toString()}`,
    )
    first = await signIn()
  })

  test('signs in by a popup and reads userinfo', () => {
    expect(first.tokens).toMatchObject({ token_type: 'bearer', scope: 'openid email' })
    expect(first.userinfo.email).toBe(ALICE.email)
  })

  test('renews in a hidden frame, by prompt=none and the session alone', async () => {
    const renewed = await page.evaluate<Outcome>('renew()')
    expect(renewed.userinfo).toEqual(first.userinfo)
    expect(renewed.tokens.access_token).not.toBe(first.tokens.access_token)
  })

  test('or by its refresh token', async () => {
    const renewed = await page.evaluate<Outcome>(`refresh(${JSON.stringify(first.tokens)})`)
    expect(renewed.userinfo).toEqual(first.userinfo)
  })

  test('gives a token back, and can read why it is refused from then on', async () => {
    const { tokens } = await page.evaluate<Outcome>('renew()')
    const seen = await page.evaluate(`revoke(${JSON.stringify(tokens)})`)
    expect(seen).toEqual({
      answer: {},
      status: 401,
      challenge: expect.stringContaining('error="invalid_token"') as string,
    })
  })

  test('is told in the frame that nobody is signed in any more', async () => {
    await context.clearCookies()
    expect(await page.evaluate('renew()')).toEqual({ error: 'login_required' })
  })
})
