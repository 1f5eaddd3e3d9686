/** What every page has: the name of the app, and beside it the HTTP steps so far. */
import { html, type Html } from './html.ts'
import type { Step } from './steps.ts'

export interface Page {
  title: string
  main: Html
  steps: readonly Step[]
}

export function layout({ title, main, steps }: Page): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${title} – Bookshelf</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" type="image/svg+xml" href="/icon.svg" />
        <link rel="stylesheet" href="/style.css" />
      </head>
      <body>
        <header>
          <a href="/"><img src="/icon.svg" alt="" width="32" height="32" />Bookshelf</a>
          <p>Sample web app</p>
        </header>
        <div class="columns">
          <main>${main}</main>
          <aside aria-labelledby="steps">
            <h2 id="steps">HTTP steps</h2>
            ${stepList(steps)}
          </aside>
        </div>
      </body>
    </html> `.html
}

function stepList(steps: readonly Step[]): Html {
  if (steps.length === 0)
    return html`<p class="faded">
      Each request between you, this app and the server will be listed here, in order.
    </p>`
  return html`<ol class="steps">
      ${steps.map(
        ({ by, method, url, status, sent, received }) =>
          html`<li>
            <details>
              <summary>
                <span class="what">${method} ${url.pathname}</span
                ><span class="who">${by}${status === undefined ? '' : ` · ${status}`}</span>
              </summary>
              <pre>${sent}${received === '' ? '' : `\n\n${received}`}</pre>
            </details>
          </li> `,
      )}
    </ol>
    <p class="faded">Codes, tokens and secrets are shortened.</p>`
}
