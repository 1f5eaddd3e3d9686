/** Guessing passwords on the login page: refused after 20 tries, the right one included. */
import { expect, test } from 'vitest'
import { OAuthError } from '../../src/protocol/errors.ts'
import { startServer } from '../support/server.ts'
import { ALICE, answerOf, authorizationUrl, authorize, BOB, goThrough, SEED } from '../support/sign-in.ts'
import { until } from '../support/until.ts'
import { createUserAgent } from '../support/user-agent.ts'

const server = await startServer({}, { seed: SEED })

/** How many sign-ins are refused as wrong before one is refused as too many. */
async function guess(
  username: string,
): Promise<{ guesses: number; page: Awaited<ReturnType<typeof goThrough>> }> {
  const agent = createUserAgent(server.url)
  const login = await agent.get(authorizationUrl(server))
  for (let guesses = 0; guesses < 60; guesses++) {
    const page = await agent.submit(login, 'login', { username, password: 'wrong' })
    if (page.status === 429) return { guesses, page }
    expect(page.status).toBe(403)
  }
  throw new Error('sixty guesses were answered')
}

test('guessing ends, the right password too, and others are not kept out', async () => {
  expect(await authorize(server).then((answer) => answer.has('code'))).toBe(true)
  const { guesses, page } = await guess('ALICE')
  expect(guesses).toBeGreaterThanOrEqual(20)
  expect(guesses).toBeLessThan(60)
  expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(page.body).not.toContain('wrong')

  const right = { username: ALICE.username, password: ALICE.password }
  // One comes back every ten seconds.
  await until(async () => {
    await guess('ALICE')
    const agent = createUserAgent(server.url)
    const login = await agent.get(authorizationUrl(server))
    expect((await agent.submit(login, 'login', right)).status).toBe(429)
  })
  const other = createUserAgent(server.url)
  const answer = answerOf(await goThrough(other, await other.get(authorizationUrl(server)), BOB))
  expect(answer.has('code')).toBe(true)
})

test('a place of passwords that is kept from answering gives no more guesses at one of ours', async () => {
  const at = await startServer(
    {},
    {
      seed: SEED,
      extend: ({ oauth }) =>
        oauth.register('passwordSource', 'full', {
          check: async () => {
            throw new OAuthError('temporarily_unavailable', 'too many ask at once', { status: 503 })
          },
          keeps: async () => null,
        }),
    },
  )
  const agent = createUserAgent(at.url)
  const login = await agent.get(authorizationUrl(at))
  const trying = async (password: string) =>
    agent.submit(login, 'login', { username: ALICE.username, password })
  const began = performance.now()
  let guesses = 0
  while ((await trying('wrong')).status === 503) guesses++
  expect(guesses).toBeGreaterThanOrEqual(20)
  // One comes back every ten seconds.
  expect(guesses).toBeLessThanOrEqual(20 + Math.floor((performance.now() - began) / 10_000))
  expect((await trying(ALICE.password)).status).toBe(429)
})
