/** What every refusal that people see must look like, whatever was wrong. */
import { expect } from 'vitest'

/** The characters of `error` and `error_description` (RFC 6749 §4.1.2.1). */
export const LEGAL = /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/

type Answer = Pick<Response, 'status' | 'headers'> & { body?: unknown; text?: () => Promise<string> }

/** `[status, error]` of an error page, once it is in good form: no redirect, never stored, one code on it. */
export async function shownError(given: Answer | Promise<Answer>): Promise<[number, string]> {
  const answer = await given
  const html = typeof answer.body === 'string' ? answer.body : await answer.text!()
  expect(answer.headers.get('location')).toBeNull()
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(html.match(/id="error"/g)).toHaveLength(1)
  const [, inside = ''] = /<div id="error">([\s\S]*)<\/main>/.exec(html) ?? []
  const [[, code = ''] = []] = inside.matchAll(/id="error-code"[^>]*>([^<]*)</g)
  expect(code).toMatch(LEGAL)
  return [answer.status, code]
}
