/** Servers at localhost, where passkeys can be, and people without eyes who have one of software. */
import type { TestServerOptions, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import { freePort, type Settings } from '../../support/settings.ts'
import { SEED } from '../../support/sign-in.ts'
import {
  makePasskey,
  signWith,
  type Behaviour,
  type CreationOptions,
  type RequestOptions,
  type SoftPasskey,
} from '../../support/soft-authenticator.ts'
import { findForm, type Page, type UserAgent } from '../../support/user-agent.ts'

export async function startAtLocalhost(
  settings: Settings = {},
  options: TestServerOptions = {},
): Promise<TestServer> {
  const PORT = await freePort()
  return startServer(
    { PORT, OIDC_ISSUER: `http://localhost:${PORT}`, ...settings },
    { seed: SEED, ...options },
  )
}

/** What a form of the page gives the browser's own functions. */
export function optionsIn(page: Page, form: 'passkey-form'): RequestOptions
export function optionsIn(page: Page, form: 'add-passkey-form'): CreationOptions
export function optionsIn(page: Page, form: string): RequestOptions | CreationOptions {
  const [, options = ''] = new RegExp(`<form id="${form}"[^>]* data-options="([^"]*)"`).exec(page.body) ?? []
  return JSON.parse(options.replaceAll('&quot;', '"').replaceAll('&amp;', '&')) as
    | RequestOptions
    | CreationOptions
}

/** Adds a passkey on the account. */
export async function addPasskey(
  { url }: Pick<TestServer, 'url'>,
  agent: UserAgent,
  behaviour: Partial<Behaviour> = {},
): Promise<{ passkey: SoftPasskey; page: Page }> {
  const at = await agent.get(`${url}/account/security`)
  const options = optionsIn(at, 'add-passkey-form')
  const { passkey, credential } = makePasskey(options, { origin: new URL(url).origin, ...behaviour })
  return { passkey, page: await agent.submit(at, 'add-passkey-form', { credential }) }
}

/** Signs in with it on the page that asks. */
export async function signInWith(
  agent: UserAgent,
  page: Page,
  passkey: SoftPasskey,
  behaviour: Partial<Behaviour> = {},
): Promise<Page> {
  return agent.submit(page, 'passkey-form', { credential: signed(page, passkey, behaviour) })
}

/** The credential that the page would be sent. */
export function signed(page: Page, passkey: SoftPasskey, behaviour: Partial<Behaviour> = {}): string {
  const options = optionsIn(page, 'passkey-form')
  return signWith(passkey, options, { origin: new URL(page.url).origin, ...behaviour })
}

/** Where the page's form goes, with what it holds. */
export function formOf(page: Page): { action: string; fields: Record<string, string> } {
  const form = findForm(page, 'passkey-form')
  if (form === undefined) throw new Error(`no passkeys on ${page.url}`)
  return form
}
