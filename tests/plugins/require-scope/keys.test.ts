import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { ask, fakeClock, issuedBy, madeUp, startApp, startIssuer } from './support.ts'

test('keys are fetched while the app starts, and 200 requests at once need no other fetch', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  const tokens = await Promise.all(Array.from({ length: 200 }, () => issuer.token()))
  const answers = await Promise.all(tokens.map((token) => ask(app, token)))
  expect(answers.every(({ status }) => status === 200)).toBe(true)
  expect(issuer.requests).toEqual({ metadata: 1, jwks: 1 })
})

test('with lazy keys, 200 requests at once wait for the same fetch', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, keys: { prefetch: 'lazy' } })
  await app.ready()
  expect(issuer.requests.jwks).toBe(0)
  const tokens = await Promise.all(Array.from({ length: 200 }, () => issuer.token()))
  const answers = await Promise.all(tokens.map((token) => ask(app, token)))
  expect(answers.every(({ status }) => status === 200)).toBe(true)
  expect(issuer.requests).toEqual({ metadata: 1, jwks: 1 })
})

test('a token by a key published since is good at once, also twice in a row', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, keys: { cooldown: 0.3 } })
  expect((await ask(app, await issuer.token())).status).toBe(200)
  for (let rotation = 0; rotation < 3; rotation++) {
    const before = await issuer.token()
    await issuer.rotateKeys()
    expect((await ask(app, await issuer.token())).status).toBe(200)
    expect((await ask(app, before)).status).toBe(200)
  }
})

test('a key that left the set is no longer good, not even for a token that was checked before', async () => {
  const clock = fakeClock()
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, now: clock.now })
  const old = await issuer.token(issuedBy(clock))
  expect((await ask(app, old)).status).toBe(200)
  await issuer.rotateKeys({ keepOld: false })
  expect((await ask(app, await issuer.token(issuedBy(clock)))).status).toBe(200)
  expect((await ask(app, old)).status).toBe(401)
})

test('100 made-up key ids at once are refused for two fetches', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, keys: { cooldown: 0.3 } })
  await ask(app, await issuer.token())
  const before = issuer.requests.jwks
  const tokens = await Promise.all(
    Array.from({ length: 100 }, () => issuer.forge({ header: { kid: randomUUID() } })),
  )
  const answers = await Promise.all(tokens.map((token) => ask(app, token)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
  expect(issuer.requests.jwks - before).toBeLessThanOrEqual(2)
})

test('100 made-up key ids in a row cost few fetches, and answers that come at once', async () => {
  const clock = fakeClock()
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, now: clock.now, keys: { cooldown: 0.2 } })
  await ask(app, await issuer.token(issuedBy(clock)))
  const before = issuer.requests.jwks
  const statuses = new Set<number>()
  for (let i = 0; i < 100; i++) statuses.add((await ask(app, await issuer.forge(madeUp(clock)))).status)
  expect(statuses).toEqual(new Set([401, 503]))
  expect(issuer.requests.jwks - before).toBeLessThanOrEqual(3)
  expect((await ask(app, await issuer.token(issuedBy(clock)))).status).toBe(200)
})

test('in the cooldown, an unknown key is refused only if the keys are newer than the token', async () => {
  const clock = fakeClock()
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, now: clock.now, keys: { cooldown: 0.2 } })
  const early = await issuer.token(madeUp(clock))
  clock.advance(5)
  expect((await ask(app, await issuer.token(madeUp(clock)))).status).toBe(401)
  const before = issuer.requests.jwks
  expect((await ask(app, early)).status).toBe(401)
  expect(issuer.requests.jwks).toBe(before)
  // Signed after the fetch, by a key published after it: it waits for the next fetch instead of being refused.
  clock.advance(0.1)
  await issuer.rotateKeys()
  expect((await ask(app, await issuer.token(issuedBy(clock)))).status).toBe(200)
})

test('while made-up ids keep coming, a token by a brand-new key gets 503 and soon passes', async () => {
  const clock = fakeClock()
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, now: clock.now, keys: { cooldown: 0.2 } })
  for (let i = 0; i < 4; i++) await ask(app, await issuer.token(madeUp(clock)))
  await issuer.rotateKeys()
  const token = await issuer.token(issuedBy(clock))
  const refused = await ask(app, token)
  expect(refused).toMatchObject({ status: 503, retryAfter: 1 })
  clock.advance(refused.retryAfter)
  expect((await ask(app, token)).status).toBe(200)
})

test('a token that came before its key was published is not held against it', async () => {
  const clock = fakeClock()
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, now: clock.now })
  await app.ready()
  const kid = randomUUID()
  expect((await ask(app, await issuer.token(issuedBy(clock, { header: { kid } })))).status).toBe(401)
  const good = await issuer.token(issuedBy(clock))
  const newKid = await issuer.rotateKeys()
  clock.advance(3)
  const token = await issuer.token(
    issuedBy(clock, { header: { kid: newKid }, claims: { iat: Math.floor(clock.now() / 1000) - 60 } }),
  )
  expect((await ask(app, token)).status).toBe(200)
  expect((await ask(app, good)).status).toBe(200)
})

test('keys are fetched anew ahead of their time, behind the request that notices, by the max-age of the issuer', async () => {
  const clock = fakeClock()
  const issuer = await startIssuer({ maxAge: 30 })
  const app = await startApp({ issuer: issuer.url, now: clock.now })
  const token = await issuer.token(issuedBy(clock))
  await ask(app, token)
  clock.advance(23)
  await ask(app, token)
  expect(issuer.requests.jwks).toBe(1)
  clock.advance(2)
  await Promise.all(Array.from({ length: 20 }, () => ask(app, token)))
  await expect.poll(() => issuer.requests.jwks).toBe(2)
  expect(issuer.requests.metadata).toBe(1)
})

test('max-age is honoured within bounds: 10 seconds at least, an hour at most', async () => {
  const clock = fakeClock()
  for (const [maxAge, seconds] of [
    [0, 10],
    [86_400, 3600],
  ] as const) {
    const issuer = await startIssuer({ maxAge })
    const app = await startApp({ issuer: issuer.url, now: clock.now })
    const token = await issuer.token(issuedBy(clock))
    await ask(app, token)
    clock.advance(seconds * 0.8 - 1)
    await ask(app, token)
    expect(issuer.requests.jwks).toBe(1)
    clock.advance(seconds * 0.2 + 1)
    await ask(app, token)
    expect(issuer.requests.jwks).toBe(2)
  }
})

test('issuers do not answer for one another', async () => {
  const [one, two] = [await startIssuer(), await startIssuer()]
  const app = await startApp({
    issuer: [one.url, { issuer: two.url, audience: 'https://two.example' }],
    keys: { cooldown: 0.1 },
  })
  const statusOf = async (token: string): Promise<number> => (await ask(app, token)).status
  expect(await statusOf(await one.token())).toBe(200)
  expect(await statusOf(await two.token())).toBe(401)
  expect(await statusOf(await two.token({ audience: 'https://two.example' }))).toBe(200)
  expect(await statusOf(await one.token({ audience: 'https://two.example' }))).toBe(401)
  expect(await statusOf(await one.token({ claims: { iss: two.url }, audience: 'https://two.example' }))).toBe(
    401,
  )
  two.goOffline()
  expect(await statusOf(await one.token())).toBe(200)
})
