/**
 * What the token endpoint of one that speaks OAuth 2.0 alone answers, as RFC 6749 §5 has it: servers from before it answer with a form, and some say
 * their errors with the status 200.
 */
import type * as Library from 'openid-client'
import { isObject, parseJson } from '../../src/protocol/json.ts'

/** Members of an answer; the way out bounds its bytes. */
const MOST = 50
const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i

/** An ID token that nobody asked for is not read. */
export function withTokenAnswer(ask: Library.CustomFetch): Library.CustomFetch {
  return async (address, options) => {
    const response = await ask(address, options)
    const type = response.headers.get('content-type') ?? ''
    const isForm = FORM.test(type)
    if (!isForm && response.status !== 200) return response
    const text = await response.clone().text()
    const said = isForm ? readForm(text) : parseJson(text)
    if (!isObject(said)) return response
    const { id_token: _unasked, ...body } = said
    const isError = typeof body['error'] === 'string'
    const status = response.status === 200 && isError ? 400 : response.status
    const headers = { 'content-type': isForm ? 'application/json' : type }
    return new Response(JSON.stringify(body), { status, headers })
  }
}

/** Undefined for what is none: too many members, or one twice (RFC 6749 §3.2). Who says no type means the one that there was. */
function readForm(text: string): Record<string, unknown> | undefined {
  const members = [...new URLSearchParams(text.trim())]
  const said = new Map<string, string | number>(members)
  if (members.length > MOST || said.size < members.length) return undefined
  const seconds = said.get('expires_in')
  if (seconds === '') said.delete('expires_in')
  else if (seconds !== undefined && /^\d{1,12}$/.test(String(seconds)))
    said.set('expires_in', Number(seconds))
  if (said.has('access_token') && !said.has('token_type')) said.set('token_type', 'bearer')
  return Object.fromEntries(said)
}
