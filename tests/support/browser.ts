/**
 * A browser for a test file: Debian's Chromium by playwright-core, started when first used and closed at the end. Where
 * there is none, tests that need one are skipped (`noBrowser`), and the run says so.
 */
import { existsSync } from 'node:fs'
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core'
import { atEndOfFile } from './cleanup.ts'

const EXECUTABLE = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const present = existsSync(EXECUTABLE)

if (!present) {
  const how = 'install it (apt-get install chromium), or name one by CHROMIUM'
  process.stderr.write(
    `\n!!! SKIPPED: no browser at ${EXECUTABLE}, so pages are NOT tested in one: ${how}.\n\n`,
  )
}

/** For `describe.skipIf`. */
export const noBrowser = !present

let launching: Promise<Browser> | undefined

/** A fresh profile of the file's browser, without cookies; what it still has open is closed with the browser. */
export async function newBrowserContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  launching ??= launch()
  return (await launching).newContext(options)
}

/** What the page complains of from now on: errors, and reports of what its policy blocked. */
export function complaintsOf(page: Page): string[] {
  const said: string[] = []
  page.on('console', (message) => {
    // Whoever types before the page is complete keeps the focus: as it should be.
    if (!message.text().startsWith('Autofocus processing was blocked')) said.push(message.text())
  })
  page.on('pageerror', (error) => said.push(error.message))
  return said
}

async function launch(): Promise<Browser> {
  // Chromium refuses its sandbox to root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const browser = await chromium.launch({ executablePath: EXECUTABLE, headless: true, args })
  atEndOfFile(async () => {
    launching = undefined
    await browser.close()
  })
  return browser
}
