/**
 * A browser for the files of a worker: Debian's Chromium by playwright-core, started when first used and ended with the worker.
 * Where there is none, tests that need one are skipped (`noBrowser`), and the run says so. Chromium without what is drawn around
 * a page (`chromium-headless-shell`) does the same for half of the work, and is taken where it is.
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

const [SHELL, WHOLE] = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
const EXECUTABLE = process.env['CHROMIUM'] ?? (existsSync(SHELL) ? SHELL : WHOLE)
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

/** A fresh profile, without cookies, until the end of the file. */
export async function newBrowserContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  launching ??= launch()
  const context = await (await launching).newContext(options)
  // As long as `until` and `expect.poll`.
  context.setDefaultTimeout(60_000)
  atEndOfFile(() => context.close())
  return context
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

/** What the page says there, once it is whole: a click is over when the next page begins to come. */
export async function textOf(page: Page, selector: string): Promise<string> {
  await page.waitForLoadState()
  return (await page.textContent(selector))!
}

/** Playwright ends it with this process. */
async function launch(): Promise<Browser> {
  // Chromium refuses its sandbox to root. With fewer processes it takes a sixth less.
  const args = ['--in-process-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox', '--no-zygote'] : [])]
  return chromium.launch({ executablePath: EXECUTABLE, headless: true, args })
}
