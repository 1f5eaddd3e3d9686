/** An administrator at a browser with a screen: what they do in a day, each page looked at as it is met. */
import type { Page } from 'playwright-core'
import { assertAccessible } from './accessibility.ts'
import { follow, pressEnter, type } from './keyboard.ts'
import type { Person } from './people.ts'

export const ROOT = { username: 'root', password: 'a password of an administrator' }
export const DORA = { username: 'dora', password: 'chosen by herself' }

/** To a page of the administration by the links that each has at its top. */
async function go(page: Page, path: string): Promise<void> {
  await page.click(`nav.area a[href="${path}"]`)
  await page.waitForURL(`**${path}`)
}

async function credentialsOn(page: Page): Promise<[string, string]> {
  await page.waitForURL('**/admin/client/secret?*')
  return [(await page.textContent('#client-id'))!, (await page.textContent('#client-secret'))!]
}

/** By the first link, which `setup-link` printed. */
export async function becomeAdministrator({ page }: Person, link: string): Promise<void> {
  await page.goto(link)
  await assertAccessible(page, 'setup')
  await page.fill('#setup-username', ROOT.username)
  await page.fill('#setup-password', ROOT.password)
  await page.click('#setup button.primary')
  await page.waitForSelector('a.button.primary')
  await assertAccessible(page, 'setup done')
  await page.click('a.button.primary')
  await page.waitForURL('**/admin')
  await assertAccessible(page, 'dashboard')
}

export async function registerScope({ page }: Person, name: string): Promise<void> {
  await go(page, '/admin/scopes')
  await assertAccessible(page, 'scopes')
  await page.click('a[href="/admin/scopes/new"]')
  await page.fill('#name', name)
  await page.fill('#description', 'Read your books')
  await page.click('#save')
  await page.waitForURL('**saved=yes')
  await assertAccessible(page, 'scope')
}

export async function registerApp({ page }: Person, callback: string): Promise<[string, string]> {
  await go(page, '/admin/clients')
  await assertAccessible(page, 'no clients')
  await page.click('#new-client')
  await assertAccessible(page, 'new app')
  await page.fill('#client_name', 'Photo Prints')
  await page.fill('#redirect_uris', callback)
  await page.fill('#scope', 'read_books')
  await page.click('#save')
  const credentials = await credentialsOn(page)
  await assertAccessible(page, 'secret of the app')
  return credentials
}

/** From the list to the secret, by keyboard alone. */
export async function registerService({ page }: Person): Promise<[string, string]> {
  await follow(page, 'nav.area a[href="/admin/clients"]', '**/admin/clients')
  await follow(page, '#new-client', '**/admin/clients/new')
  await follow(page, '.tiles a[href$="service"]', '**/admin/clients/new?type=service')
  await type(page, '#client_name', 'Reports')
  await type(page, '#scope', 'read_books')
  await page.keyboard.press('Enter')
  return credentialsOn(page)
}

export async function registerDora({ page }: Person): Promise<string> {
  await go(page, '/admin/users')
  await assertAccessible(page, 'users')
  await page.click('#new-user')
  await page.fill('#username', DORA.username)
  await page.fill('#name', 'Dora Example')
  await assertAccessible(page, 'new user')
  await page.fill('#username', DORA.username)
  await page.click('#save')
  await page.waitForURL('**/admin/user/link?*')
  await assertAccessible(page, 'link')
  return (await page.textContent('#password-link'))!
}

/** The former secret works for an hour more. */
export async function rotate({ page }: Person, clientId: string): Promise<string> {
  await page.goto(new URL(`/admin/client?client_id=${clientId}`, page.url()).href)
  await assertAccessible(page, 'client')
  await page.selectOption('#overlap', '3600')
  await page.click('#rotate')
  return (await credentialsOn(page))[1]
}

/** By keyboard alone, in a browser without scripts, from the sign-in on. */
export async function disableDora({ page }: Person, issuer: string): Promise<void> {
  await page.goto(`${issuer}/admin/users`)
  await type(page, '#username', ROOT.username)
  await type(page, '#password', ROOT.password)
  await pressEnter(page, '**/admin/users')
  await type(page, '#search-text', 'DOR')
  await pressEnter(page, '**/admin/users?search=DOR')
  await follow(page, 'tbody th a', '**/admin/user?id=*')
  await follow(page, '#disable button', '**done=disabled')
}
