import { expect, test } from 'vitest'
import { ask, fakeClock, issuedBy, madeUp, startApp, startIssuer } from './support.ts'

test('with required keys the app does not start without them', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, keys: { prefetch: 'required' } })
  issuer.goOffline()
  await expect(app.ready()).rejects.toThrow(`the keys of ${issuer.url} could not be fetched`)
})

test('the issuer away: known keys serve, unknown ones get 503, nothing of the outage leaks, and it heals', async () => {
  const clock = fakeClock()
  for (const outage of ['refuse', 'error'] as const) {
    const issuer = await startIssuer()
    const app = await startApp({ issuer: issuer.url, now: clock.now })
    const known = await issuer.token(issuedBy(clock))
    expect((await ask(app, known)).status).toBe(200)
    issuer.goOffline(outage)
    await issuer.rotateKeys()
    const unknown = await issuer.token(issuedBy(clock))
    for (let i = 0; i < 3; i++) {
      const answer = await ask(app, unknown)
      expect(answer.status).toBe(503)
      expect(answer.retryAfter).toBeGreaterThanOrEqual(1)
      expect(answer.body).not.toMatch(/ECONN|127\.0\.0\.1|jwks/)
    }
    clock.advance(3600 * 20)
    expect((await ask(app, known)).status).toBe(200)
    expect((await ask(app, unknown)).status).toBe(503)
    issuer.goOnline()
    clock.advance(11)
    expect((await ask(app, unknown)).status).toBe(200)
    expect((await ask(app, known)).status).toBe(200)
  }
})

test('old keys serve no longer than staleIfError', async () => {
  const clock = fakeClock()
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, now: clock.now, keys: { staleIfError: 600 } })
  const token = await issuer.token(issuedBy(clock))
  expect((await ask(app, token)).status).toBe(200)
  issuer.goOffline()
  clock.advance(300 + 599)
  expect((await ask(app, token)).status).toBe(200)
  clock.advance(2)
  expect((await ask(app, token)).status).toBe(503)
  issuer.goOnline()
  clock.advance(11)
  expect((await ask(app, token)).status).toBe(200)
})

test('an issuer that was never there gives 503 to every token of its own, 401 to the rest, and heals', async () => {
  const clock = fakeClock()
  const issuer = await startIssuer()
  issuer.goOffline()
  const app = await startApp({ issuer: issuer.url, now: clock.now })
  await app.ready()
  const token = await issuer.token(issuedBy(clock))
  expect((await ask(app, token)).status).toBe(503)
  expect((await ask(app, 'garbage')).status).toBe(401)
  expect(
    (await ask(app, await issuer.token(issuedBy(clock, { claims: { iss: 'https://b.example' } })))).status,
  ).toBe(401)
  issuer.goOnline()
  clock.advance(11)
  expect((await ask(app, token)).status).toBe(200)
})

test('after a failure the issuer is left alone for a while, longer each time', async () => {
  const clock = fakeClock()
  const issuer = await startIssuer()
  issuer.goOffline('error')
  const app = await startApp({ issuer: issuer.url, now: clock.now, keys: { prefetch: 'lazy' } })
  const token = await issuer.token(issuedBy(clock))
  const attempts: number[] = []
  for (let second = 0; second < 60; second++) {
    const before = issuer.requests.metadata
    await Promise.all(Array.from({ length: 20 }, () => ask(app, token)))
    if (issuer.requests.metadata > before) attempts.push(second)
    clock.advance(1)
  }
  expect(attempts).toEqual([0, 1, 2, 4, 8, 16, 26, 36, 46, 56])
})

test('an issuer that hangs holds up one request for the timeout, then none', async () => {
  const clock = fakeClock()
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, now: clock.now, keys: { timeout: 0.2 } })
  const token = await issuer.token(issuedBy(clock))
  expect((await ask(app, token)).status).toBe(200)
  issuer.goOffline('hang')
  clock.advance(301)
  const started = performance.now()
  expect((await ask(app, token)).status).toBe(200)
  expect(performance.now() - started).toBeGreaterThan(150)
  clock.advance(1)
  // Whom nobody asks, nobody waits for.
  const asked = { ...issuer.requests }
  for (let i = 0; i < 10; i++) expect((await ask(app, token)).status).toBe(200)
  expect(issuer.requests).toEqual(asked)
})

test('a clock that is set back freezes neither the keys, nor a search, nor a back-off', async () => {
  const clock = fakeClock()
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, now: clock.now })
  await app.ready()
  clock.advance(1)
  expect((await ask(app, await issuer.token(madeUp(clock)))).status).toBe(401)
  const before = issuer.requests.jwks
  clock.advance(-86_400)
  expect((await ask(app, await issuer.token(issuedBy(clock)))).status).toBe(200)
  await expect.poll(() => issuer.requests.jwks).toBe(before + 1)
  clock.advance(1)
  expect((await ask(app, await issuer.token(madeUp(clock)))).status).toBe(401)
  clock.advance(-86_400)
  await issuer.rotateKeys()
  expect((await ask(app, await issuer.token(issuedBy(clock)))).status).toBe(200)
  issuer.goOffline()
  await issuer.rotateKeys()
  clock.advance(3)
  expect((await ask(app, await issuer.token(issuedBy(clock)))).status).toBe(503)
  clock.advance(-86_400)
  issuer.goOnline()
  expect((await ask(app, await issuer.token(issuedBy(clock)))).status).toBe(200)
})

test('unknown key ids do not shorten the back-off of an issuer that is away', async () => {
  const clock = fakeClock()
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, now: clock.now })
  expect((await ask(app, await issuer.token(issuedBy(clock)))).status).toBe(200)
  issuer.goOffline('error')
  const before = issuer.requests.jwks + issuer.requests.metadata
  for (let i = 0; i < 20; i++) expect((await ask(app, await issuer.token(madeUp(clock)))).status).toBe(503)
  expect(issuer.requests.jwks + issuer.requests.metadata - before).toBe(1)
})

test('transitions are logged once each, without a token in them', async () => {
  const clock = fakeClock()
  const lines: { level: number; msg: string }[] = []
  const stream = { write: (line: string) => lines.push(JSON.parse(line)) }
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, now: clock.now }, undefined, {
    logger: { level: 'info', stream },
  })
  const token = await issuer.token(issuedBy(clock))
  await ask(app, token)
  issuer.goOffline()
  for (let i = 0; i < 5; i++) {
    clock.advance(400)
    await ask(app, token)
  }
  issuer.goOnline()
  clock.advance(400)
  await ask(app, token)
  await expect
    .poll(() =>
      lines.filter(({ msg }) => msg.startsWith('requireScope')).map(({ level, msg }) => `${level} ${msg}`),
    )
    .toEqual([
      '30 requireScope: keys fetched',
      '40 requireScope: keys could not be fetched, serving with the keys at hand',
      '30 requireScope: the issuer is back, keys fetched',
    ])
  expect(JSON.stringify(lines)).not.toContain(token.split('.')[1])
})
