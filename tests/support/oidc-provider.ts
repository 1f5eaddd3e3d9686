/** npm oidc-provider, somebody else's OpenID provider: its development pages sign in whoever gives a name. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { exportJWK, generateKeyPair } from 'jose'
import { Provider } from 'oidc-provider'
import type { Page } from 'playwright-core'
import { atEndOfFile } from './cleanup.ts'
import { freePort } from './settings.ts'

export interface OtherProvider {
  readonly issuer: string
  readonly client_id: string
  readonly client_secret: string
}

/** At localhost, with one client: the server at `url`, whose upstream it is by the name `id`. */
export async function startOidcProvider(id: string, url: string): Promise<OtherProvider> {
  const port = await freePort()
  const issuer = `http://localhost:${port}`
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const client = { client_id: 'us', client_secret: 'what the provider gave us' }
  const provider = new Provider(issuer, {
    clients: [
      {
        ...client,
        redirect_uris: [`${url}/upstream/${id}/callback`],
        post_logout_redirect_uris: [`${url}/upstream/${id}/signed-out`],
      },
    ],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId, name: accountId, email: `${accountId}@op.example` }),
    }),
    cookies: { keys: ['a key of its own'] },
    // As it would have them, said so that it does not remind of them.
    ttl: { AccessToken: 3600, Grant: 3600, IdToken: 3600, Interaction: 3600, Session: 3600 },
    features: { rpInitiatedLogout: { logoutSource: showLogout } },
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig' }] },
  })
  const server: Server = provider.listen(port, '127.0.0.1', () => {})
  await once(server, 'listening')
  atEndOfFile(async () => {
    server.closeAllConnections()
    server.close()
  })
  return { issuer, ...client }
}

function showLogout(context: { body: string }, form: string): void {
  const button = '<button form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>'
  context.body = `<!doctype html><title>Logout</title>${form}${button}`
}

/** Its pages ask elsewhere for the shapes of their letters: that is nobody's here. */
export async function readWithoutFonts(page: Page): Promise<void> {
  await page.route(/^https:/, async (route) => route.fulfill({ contentType: 'text/css', body: '' }))
}

/** On its page. */
export async function signInThere(page: Page, name: string): Promise<void> {
  await page.fill('input[name=login]', name)
  await page.fill('input[name=password]', 'any')
  await page.click('button.login-submit')
}
