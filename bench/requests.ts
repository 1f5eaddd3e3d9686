// Owns the requests outside the measurement: to mint tokens from a server, and to catch one that is right by accident.

import { createLocalJWKSet, jwtVerify, type JSONWebKeySet, type JWTPayload } from 'jose'
import { scope } from './contestant.ts'

export function form(parameters: Record<string, string>): string {
  return new URLSearchParams(parameters).toString()
}

export async function post(port: number, path: string, body: string) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const signal = AbortSignal.timeout(10_000)
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body, signal })
  const text = await response.text()
  return { status: response.status, answer: JSON.parse(text) as Record<string, unknown> }
}

/** Like `post`, for what must succeed. */
export async function postWell(port: number, path: string, body: string): Promise<Record<string, unknown>> {
  const { status, answer } = await post(port, path, body)
  if (status !== 200) throw new Error(`${path} answered ${status}: ${JSON.stringify(answer)}`)
  return answer
}

/** Makes that many different texts, 32 at a time. */
export async function makeMany(count: number, make: () => Promise<string>): Promise<string[]> {
  const made: string[] = []
  let begun = 0
  const worker = async () => {
    while (begun < count) {
      begun++
      made.push(await make())
    }
  }
  await Promise.all(Array.from({ length: Math.min(count, 32) }, worker))
  if (new Set(made).size < count) throw new Error('the same code or token came twice')
  return made
}

/** Gets that many different access tokens. */
export async function mint(port: number, path: string, body: string, count: number): Promise<string[]> {
  return makeMany(count, async () => String((await postWell(port, path, body))['access_token']))
}

/** The token is an RFC 9068 JWT for our scopes, signed with a key of the published set. */
export async function assertJwt(port: number, jwksPath: string, token: string): Promise<void> {
  const payload = await verify(port, jwksPath, token, { typ: 'at+jwt', algorithms: ['ES256'] })
  if (payload['scope'] !== scope) throw new Error(`the token carries the scope ${String(payload['scope'])}`)
}

/** Verifies with a key of the published set. */
export async function verify(
  port: number,
  jwksPath: string,
  token: string,
  options: { typ?: string; algorithms: string[] },
): Promise<JWTPayload> {
  const response = await fetch(`http://127.0.0.1:${port}${jwksPath}`)
  const keys = createLocalJWKSet((await response.json()) as JSONWebKeySet)
  return (await jwtVerify(token, keys, options)).payload
}

/** Introspection says no to a token that was never issued. */
export async function assertRefusesStranger(port: number, path: string, body: string): Promise<void> {
  const { answer } = await post(port, path, body)
  if (answer['active'] !== false) throw new Error(`${path} believes a forged token`)
}

/** A request with a wrong secret is refused. */
export async function assertChecksSecret(port: number, path: string, body: string): Promise<void> {
  const { status } = await post(port, path, body)
  if (status !== 401) throw new Error(`${path} answered ${status} to a wrong client secret`)
}
