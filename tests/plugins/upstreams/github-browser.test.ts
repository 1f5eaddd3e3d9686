/**
 * GitHub as an upstream, in Chromium: somebody signs in from an app by the button, agrees there and here, and finds it on the page Security.
 * @needs latchkey-upstreams
 */
import { describe, expect, test } from 'vitest'
import { noBrowser } from '../../support/browser.ts'
import { startGitHub } from '../../support/github.ts'
import { newPerson, openCallback } from '../../support/people.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { authorizationUrl, SEED, WEB } from '../../support/sign-in.ts'

const PORT = await freePort()
const url = `http://127.0.0.1:${PORT}`
const emails = [{ email: 'octocat@corp.example', primary: true, verified: true }]
const github = await startGitHub([{ id: 1, login: 'octocat', emails }], [`${url}/upstream/github/callback`])
const { issuer, client, origin } = github
const registered = { id: 'github', kind: 'github', name: 'GitHub', issuer, ...client }
const believed = { domains: ['corp.example'], trust_email: true }
const redirect_uri = await openCallback()
const app = { client_id: 'app', client_secret: WEB.client_secret, redirect_uris: [redirect_uri] }
const server = await startServer(
  { PORT, UNSAFE_OUTBOUND_ORIGINS: origin },
  { seed: { ...SEED, clients: [app], upstreams: [{ ...registered, ...believed }] } },
)

describe.skipIf(noBrowser)('in a browser', () => {
  test.each([
    ['with scripts', true],
    ['without scripts', false],
  ])('%s the button signs in, the app gets its answer, and Security shows the link', async (_how, javaScriptEnabled) => {
    const { page, said } = await newPerson({ javaScriptEnabled })
    await page.goto(authorizationUrl(server, { client_id: app.client_id, redirect_uri, prompt: 'consent', scope: 'openid' }))
    expect(await page.textContent('#upstream-github')).toContain('Continue with GitHub')
    await page.click('#upstream-github')
    await page.waitForURL(`${issuer}/authorize**`)
    await page.click('text=Authorize as octocat')
    await page.click('#allow')
    await page.waitForURL(`${redirect_uri}**`)
    expect(new URL(page.url()).searchParams.has('code')).toBe(true)
    await page.goto(`${url}/account/security`)
    expect(await page.textContent('#signed-in-as')).toContain('octocat')
    expect(await page.textContent('main')).toContain('GitHub')
    await page.goto(`${url}/account/linked-sign-ins`)
    expect(await page.textContent('main')).toContain('As octocat@corp.example')
    expect(said).toEqual([])
  })
}) // prettier-ignore
