/** One step of a walk: what is well goes on, and the first thing that is wrong ends it. */
import { type Fetch, OutboundError, type OutboundRequest } from '../../doors/outbound.ts'
import type { Bag } from '../../protocol/bag.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { parseJsonObject } from '../../protocol/strict-json.ts'
import { type Finding, ok, warn } from '../finding.ts'

/** What a walk looks at, in a word or two each: docs/doctor.md says of each what. */
export const CLIENT_CHECKS = [
  'client', 'document', 'keys', 'members', 'challenge', 'resource metadata', 'server metadata',
] as const // prettier-ignore

export type ClientCheck = (typeof CLIENT_CHECKS)[number]

export type ClientFinding = Finding<ClientCheck>

/** Ends the walk: a client gets no further. */
export class Wrong extends Error {
  readonly check: ClientCheck

  /** `remedy`: what to do, in the imperative. */
  constructor(check: ClientCheck, found: string, remedy: string) {
    super(`${found}: ${remedy}.`)
    this.check = check
  }
}

/** What is well, or works and should not stay; a `Wrong` is thrown. */
export type Walk = AsyncGenerator<ClientFinding, void>

export const well = (check: ClientCheck, found: string): ClientFinding => ok(check, `${found}.`)

export const odd = (check: ClientCheck, found: string, remedy: string): ClientFinding =>
  warn(check, `${found}: ${remedy}.`)

/** Throws `Wrong` with what happened where no answer comes. */
export async function ask(
  fetch: Fetch,
  check: ClientCheck,
  url: string,
  request: OutboundRequest = {},
): Promise<Response> {
  try {
    return await fetch(url, request)
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    throw new Wrong(
      check,
      `${url} cannot be fetched, since ${error.reason.split(';', 1)[0]}`,
      remedyOf(url, error.reason),
    )
  }
}

function remedyOf(url: string, reason: string): string {
  if (/not https|not of the public internet/.test(reason))
    return `serve it from the public internet by https, or name ${new URL(url).origin} in UNSAFE_OUTBOUND_ORIGINS while you develop`
  if (reason.includes('bytes')) return 'make it shorter'
  return 'see where the name leads, and that a server answers there'
}

/** Throws `Wrong` for what is no JSON object of an answer of 200. */
export async function readJson(
  response: Response,
  check: ClientCheck,
  url: string,
  remedy: string,
): Promise<Bag> {
  const { status, headers } = response
  const location = headers.get('location')
  if (location !== null && status >= 300 && status < 400)
    throw new Wrong(check, `${url} redirects, which nobody follows`, 'serve it at that address itself')
  if (status !== 200) throw new Wrong(check, `${url} answers ${status}`, remedy)
  const type = headers.get('content-type') ?? ''
  if (!/^application\/(?:[\w.+-]+\+)?json(?:\s*;|\s*$)/i.test(type))
    throw new Wrong(check, `${url} is ${JSON.stringify(type)}`, 'send it as application/json')
  try {
    return parseJsonObject(await response.bytes())
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    throw new Wrong(
      check,
      `${url} ${error.message.replace(/^the body /, '')}`,
      'make it one JSON object, with each member once',
    )
  }
}

/** A text of somebody else's, short enough for a line. */
export const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 200)
