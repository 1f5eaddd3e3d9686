/** The pages, but for what `layout.ts` puts around them. */
import { html, type Html } from './html.ts'
import type { Problem } from './problems.ts'
import type { SignedIn, Tokens } from './sign-in.ts'
import { shorten } from './steps.ts'

export interface Book {
  title: string
  author: string
}

const SHOW_BOOKS = html`<a class="button primary" href="/books">Show my books</a>`
const SIGN_IN = html`<a class="button primary" id="log-in" href="/login">Sign in</a>`

/** What who is signed in can do, the likeliest first. */
const actions = (first: Html): Html =>
  html`<div class="actions">
    ${first}
    <form method="post" action="/refresh"><button id="refresh">Refresh tokens</button></form>
    <form method="post" action="/logout"><button id="log-out">Sign out</button></form>
  </div>`

export function welcome(issuer: string, notice: string | undefined): Html {
  return html`<h1>Sign in to see your books</h1>
    ${noticeOf(notice)}
    <p>
      This app keeps no passwords. It sends you to <code>${issuer}</code> to sign in; you come back with proof
      of who you are, and with a token that lets the app read your books.
    </p>
    <div class="actions">${SIGN_IN}</div>`
}

export function profile({ tokens, claims, userinfo }: SignedIn, notice: string | undefined): Html {
  const { name, preferred_username: username, sub } = userinfo
  return html`<h1>Signed in as ${name ?? username ?? sub}</h1>
    ${noticeOf(notice)} ${actions(SHOW_BOOKS)}
    <section aria-labelledby="id-token">
      <h2 id="id-token">Claims of the ID token</h2>
      ${claimList(claims)}
    </section>
    <section aria-labelledby="userinfo">
      <h2 id="userinfo">Claims from userinfo</h2>
      ${claimList(userinfo)}
    </section>
    <section aria-labelledby="access-token">
      <h2 id="access-token">Access token</h2>
      <p>For the scopes <code>${tokens.scope}</code>. ${lifetime(tokens)}</p>
      ${decoded(tokens.accessToken)}
    </section>
    <section aria-labelledby="refresh-token">
      <h2 id="refresh-token">Refresh token</h2>
      <p>
        ${tokens.refreshToken === undefined ? 'None.' : html`<code>${shorten(tokens.refreshToken)}</code>`}
      </p>
    </section>`
}

export function books(address: URL, status: number, answer: { books: readonly Book[] }): Html {
  return html`<h1>Your books</h1>
    <ul class="books">
      ${answer.books.map(({ title, author }) => html`<li>${title} <span>${author}</span></li> `)}
    </ul>
    <section aria-labelledby="answer">
      <h2 id="answer">What the API answered</h2>
      <p><code>GET ${address.href}</code> with the access token: ${status}</p>
      <pre>${JSON.stringify(answer, null, 2)}</pre>
    </section>
    <p><a href="/">Back to your profile</a></p>`
}

export function problem({ title, text, code, details, asksSignIn }: Problem, isSignedIn: boolean): Html {
  return html`<h1>${title}</h1>
    <p>${text}</p>
    ${code === undefined ? undefined : html`<p class="notice"><code>${code}</code>${details === undefined ? '' : `: ${details}`}</p>`}
    ${isSignedIn ? actions(asksSignIn ? SIGN_IN : SHOW_BOOKS) : html`<div class="actions">${SIGN_IN}</div>`}
    <p><a href="/">Back to the start</a></p>`
}

function noticeOf(text: string | undefined): Html | undefined {
  return text === undefined ? undefined : html`<p class="notice" role="status">${text}</p>`
}

function claimList(claims: Readonly<Record<string, unknown>>): Html {
  const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  return html`<dl>
    ${Object.entries(claims).map(
      ([name, value]) =>
        html`<dt><code>${name}</code></dt>
          <dd>${shown(value)}${instant(name, value)}</dd> `,
    )}
  </dl>`
}

/** Times are numbers of seconds (RFC 7519 §2). */
function instant(name: string, value: unknown): Html | undefined {
  const isTime = ['iat', 'exp', 'nbf', 'auth_time', 'updated_at'].includes(name)
  return isTime && typeof value === 'number'
    ? html` <span class="faded">${utc(value * 1000)}</span>`
    : undefined
}

function lifetime({ expiresAt }: Tokens): string {
  if (expiresAt === undefined) return 'The server does not say how long it lives.'
  const seconds = Math.round((expiresAt - Date.now()) / 1000)
  return seconds > 0
    ? `It lives until ${utc(expiresAt)}, for ${seconds} seconds more.`
    : `It has expired, at ${utc(expiresAt)}.`
}

function utc(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** To look at only: a client never reads access tokens, which are for the API (RFC 9068 §6). */
function decoded(token: string): Html {
  const [header, payload] = token.split('.').slice(0, 2).map(readPart)
  if (header === undefined || payload === undefined)
    return html`<p>It is opaque: <code>${shorten(token)}</code></p>`
  return html`<h3>Header</h3>
    <pre>${header}</pre>
    <h3>Payload</h3>
    <pre>${payload}</pre>`
}

function readPart(part: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(Buffer.from(part, 'base64url').toString()), null, 2)
  } catch {
    return undefined
  }
}
