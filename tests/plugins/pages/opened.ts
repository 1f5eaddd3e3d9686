/** Pages opened in a browser, with what their console says: it reports whatever a policy forbids. */
import type { Page } from 'playwright-core'
import { complaintsOf, newBrowserContext } from '../../support/browser.ts'

export interface Opened {
  page: Page
  /** Lines of the console, and errors of scripts. */
  said: string[]
}

const LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1H0z"/></svg>'

/** A page of a fresh profile. The samples' client has its logo. */
export async function openPage(options: { javaScriptEnabled?: boolean } = {}): Promise<Opened> {
  const context = await newBrowserContext(options)
  await context.route('https://prints.example/logo.png', (route) =>
    route.fulfill({ contentType: 'image/svg+xml', body: LOGO }),
  )
  const page = await context.newPage()
  const said = complaintsOf(page)
  return { page, said }
}

/** A page that none of ours leaves by itself, so that it can be looked at. */
export async function openStillPage(): Promise<Opened> {
  const opened = await openPage()
  for (const name of ['submit', 'go-on'])
    await opened.page.route(`**/assets/${name}.*.js`, (route) =>
      route.fulfill({ contentType: 'text/javascript', body: '' }),
    )
  return opened
}
