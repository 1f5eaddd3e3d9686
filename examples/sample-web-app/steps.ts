/** Records the HTTP steps of a sign-in, to be shown. What is secret is shortened before it is kept. */
import type { CustomFetch } from 'openid-client'

export interface Step {
  /** The browser goes by redirects; the app calls the server by itself. */
  by: 'browser' | 'app'
  method: string
  url: URL
  /** Absent where only the browser saw it, and where no answer came. */
  status?: number
  /** As on the wire, a line each. */
  sent: string
  received: string
}

const SECRETS = new Set([
  'access_token',
  'client_secret',
  'code',
  'code_verifier',
  'id_token',
  'id_token_hint',
  'refresh_token',
])
const SENT_HEADERS = ['accept', 'authorization', 'content-type']
const RECEIVED_HEADERS = ['content-type', 'cache-control', 'location', 'www-authenticate']
const MAX_STEPS = 60

export function addStep(steps: Step[], step: Step): void {
  steps.push(step)
  if (steps.length > MAX_STEPS) steps.shift()
}

/** A redirect that takes the browser to the server, or brings it back. */
export function browserStep(url: URL): Step {
  return { by: 'browser', method: 'GET', url, sent: requestLines('GET', url, []), received: '' }
}

/** `fetch` that records into `steps`; for openid-client's `customFetch`. */
export function recordingFetch(steps: Step[]): CustomFetch {
  return async (address, options) => {
    const url = new URL(address)
    const { method } = options
    const body = options.body instanceof URLSearchParams ? `\n\n${pairs(options.body).join('\n&')}` : ''
    const headers = headerLines(new Headers(options.headers), SENT_HEADERS)
    const step: Step = {
      by: 'app',
      method,
      url,
      sent: requestLines(method, url, headers) + body,
      received: '',
    }
    addStep(steps, step)
    try {
      const response = await fetch(address, options as RequestInit)
      step.status = response.status
      step.received = await responseLines(response.clone())
      return response
    } catch (error) {
      step.received = 'no answer'
      throw error
    }
  }
}

/** A long value or a secret by its beginning and its length. */
export function shorten(value: string): string {
  return value.length <= 12 ? '…' : `${value.slice(0, 10)}… (${value.length} characters)`
}

function requestLines(method: string, url: URL, headers: readonly string[]): string {
  const query = pairs(url.searchParams).map((pair, at) => `${at === 0 ? '?' : '&'}${pair}`)
  return [`${method} ${url.pathname}`, ...query, `host: ${url.host}`, ...headers].join('\n')
}

async function responseLines(response: Response): Promise<string> {
  const headers = headerLines(response.headers, RECEIVED_HEADERS)
  const text = await response.text()
  const isJson = /^application\/(?:.+\+)?json/.test(response.headers.get('content-type') ?? '')
  const body = isJson ? prettyJson(text) : text.slice(0, 500)
  return [`${response.status} ${response.statusText}`, ...headers, '', body].join('\n').trimEnd()
}

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), (name, value: unknown) => shown(name, value), 2)
  } catch {
    return text.slice(0, 500)
  }
}

function headerLines(headers: Headers, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const value = headers.get(name)
    if (value === null) return []
    return `${name}: ${name === 'authorization' ? value.replace(/(?<= ).*/, shorten) : value}`
  })
}

function pairs(parameters: URLSearchParams): string[] {
  return [...parameters].map(([name, value]) => `${name}=${String(shown(name, value))}`)
}

function shown(name: string, value: unknown): unknown {
  return typeof value === 'string' && (SECRETS.has(name) || value.length > 200) ? shorten(value) : value
}
