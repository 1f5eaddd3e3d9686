/** OIDC_TOKEN_EXPIRE, to the millisecond: at a guarded route of ours and at introspection. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createClient, getToken, introspect, statusWith } from '../../support/clients.ts'
import { runCommand } from '../../support/process.ts'
import { startServer } from '../../support/server.ts'

async function start(seconds: number) {
  const settings = { OIDC_TOKEN_EXPIRE: seconds, OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false }
  return startServer(settings, {
    extend: (server) => server.get('/books', { config: { scope: 'read' } }, async () => ({})),
  })
}

async function sleepUntil(instant: number): Promise<void> {
  await sleep(Math.max(0, instant - Date.now()))
}

test.concurrent.each(['jwt', 'opaque'])(
  '1: a token that is %s is good at once and dead 1.1 s later',
  async (format) => {
    const server = await start(1)
    const client = await createClient(server, { scope: ['read'], access_token_format: format })
    await getToken(server, client)
    // Late in a second, so that the whole seconds of `exp` are over long before the token is.
    await sleepUntil(Math.ceil(Date.now() / 1000) * 1000 + 750)
    const { access_token, expires_in } = await getToken(server, client)
    const issued = Date.now()
    expect(expires_in).toBe(1)
    const answer = await introspect(server, client, access_token)
    expect(answer['active']).toBe(true)
    expect(Number(answer['exp']) - Number(answer['iat'])).toBe(1)

    await sleepUntil(Number(answer['exp']) * 1000 + 1)
    expect(await statusWith(server, '/books', access_token)).toBe(200)
    expect(await introspect(server, client, access_token)).toMatchObject({ active: true })

    await sleepUntil(issued + 1100)
    expect(await statusWith(server, '/books', access_token)).toBe(401)
    expect(await introspect(server, client, access_token)).toEqual({ active: false })
  },
)

test.each(['jwt', 'opaque'])('0: a token that is %s has expired at once', async (format) => {
  const server = await start(0)
  const client = await createClient(server, { scope: ['read'], access_token_format: format })
  const { access_token, expires_in } = await getToken(server, client)
  expect(expires_in).toBe(0)
  expect(await statusWith(server, '/books', access_token)).toBe(401)
  expect(await introspect(server, client, access_token)).toEqual({ active: false })
})

test.concurrent.each(['-1', 'abc', '1.5', '1e3', '3600s'])(
  '%s: the server does not start, and says why',
  async (value) => {
    const { status, stdout, stderr } = await runCommand(['serve'], { OIDC_TOKEN_EXPIRE: value })
    expect(status).toBeGreaterThan(0)
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^[^\n]*OIDC_TOKEN_EXPIRE[^\n]*\n$/)
    expect(stderr).toContain(value)
  },
)
