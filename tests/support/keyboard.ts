/** What people do who have a keyboard alone. */
import type { Page } from 'playwright-core'

/** Goes from one control to the next until it is the one of `selector`. */
export async function reach(page: Page, selector: string): Promise<void> {
  for (let tabs = 0; tabs < 80; tabs++) {
    await page.keyboard.press('Tab')
    if ((await page.locator(`${selector}:focus`).count()) === 1) return
  }
  throw new Error(`${selector} is not reached by keyboard on ${page.url()}: ${await page.innerText('body')}`)
}

/** Uses the link or button of `selector`, which leads to `address`. */
export async function follow(page: Page, selector: string, address: string): Promise<void> {
  await reach(page, selector)
  await pressEnter(page, address)
}

/** Wherever they are, which leads to `address`. */
export async function pressEnter(page: Page, address: string): Promise<void> {
  await page.keyboard.press('Enter')
  await page.waitForURL(address)
}

/** Into the field of `selector`. */
export async function type(page: Page, selector: string, text: string): Promise<void> {
  await reach(page, selector)
  await page.keyboard.type(text)
}
