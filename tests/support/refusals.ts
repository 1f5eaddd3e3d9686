/** What every refusal of a protocol endpoint must look like (RFC 6749 §5.2), whatever was wrong. */
import { expect } from 'vitest'
import type { RawResponse } from './raw-http.ts'

/** The characters of `error` and `error_description`. */
const LEGAL = /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/

/** Checks an error's body: JSON, two members, legal characters. Returns the code. */
export function errorOf(body: string): string {
  const { error, error_description: description, ...more } = JSON.parse(body) as Record<string, unknown>
  expect(more).toEqual({})
  expect(error).toMatch(LEGAL)
  expect(description).toMatch(LEGAL)
  return error as string
}

/** `[status, error]` of a refusal, once it is in good form: JSON that nobody stores. */
export async function refusal(answer: Response | Promise<Response>): Promise<[number, string]> {
  const response = await answer
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(response.headers.get('cache-control')).toBe('no-store')
  return [response.status, errorOf(await response.text())]
}

/** The same of what came by the byte; an empty body has no code. */
export async function rawRefusal(answer: Promise<RawResponse>): Promise<[number, string]> {
  const { status, body } = await answer
  return [status, /^(?:0\r\n\r\n)?$/.test(body) ? '' : errorOf(body)]
}
