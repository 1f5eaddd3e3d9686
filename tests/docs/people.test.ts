/** docs/doors/people.md: the plugins that it shows are those that strangers install, to the letter. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkout, openPage } from './page.ts'

const strangers = join(checkout, 'tests/strangers')
const fileOf = async (path: string): Promise<string> =>
  (await readFile(join(strangers, path), 'utf8')).trimEnd()

test('its pieces are the files of the strangers, in their order, what pages-and-events.test.ts runs', async () => {
  const page = await openPage('doors/people.md')
  expect(page.next('ts')).toContain(`name: 'terms'`)
  expect(page.next('html')).toContain('id="terms"')
  for (const [language, path] of [
    ['ts', 'email-code/email-code.ts'],
    ['eta', 'email-code/offer.eta'],
    ['ts', 'second-factor/second-factor.ts'],
  ] as const)
    expect(page.next(language).trimEnd()).toBe(await fileOf(path))
  expect(page.next('ts')).toContain('account.addSecurity')
  expect(page.next('html')).toContain('Second address')
  expect(page.next('ts')).toContain(`name: 'sign-up'`)
  expect(page.next('ts')).toContain('interactions.prove')
  expect(page.next('html')).toContain('id="sign-up"')
  expect(page.next('ts')).toContain(`register('outcome', 'voucher'`)
  expect(page.next('ts').trimEnd()).toBe(await fileOf('email-code/mailbox.ts'))
  page.end()
})
