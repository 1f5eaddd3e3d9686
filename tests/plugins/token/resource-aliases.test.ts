/** The names of a resource in requests, and what a request is for that names none: its tokens have the registered identifier alone. */
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { createClient, getToken, requestToken } from '../../support/clients.ts'
import { requestsTo } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import {
  answerOf,
  authorizationUrl,
  exchange,
  getTokens,
  goThrough,
  refresh,
  SEED,
} from '../../support/sign-in.ts'
import { createUserAgent } from '../../support/user-agent.ts'

const BOOKS = 'https://books.example/mcp'
const MUSIC = 'https://music.example'
const OLD = 'https://old.example/books'
const resourcesOfSeed = [
  { resource: BOOKS, aliases: [OLD, 'urn:books'], scopes: ['read_books'] },
  { resource: MUSIC, scopes: ['play'] },
]
const WEB = { ...SEED.clients[0]!, scope: ['read_books', 'play'] }
const server = await startServer({}, { seed: { ...SEED, clients: [WEB], resources: resourcesOfSeed } })
const { resources, clients, audit } = server.server.oauth
const everything = ['read_books', 'play', 'plain']
const service = await createClient(server, { scope: everything })

const audienceOf = ({ access_token }: { access_token: string }): unknown => decodeJwt(access_token).aud

async function errorOf(response: Response): Promise<unknown> {
  return [response.status, ((await response.json()) as { error: string }).error]
}

describe('a resource is named by', () => {
  test.each([
    ['its identifier', BOOKS],
    ['its identifier with a slash', `${BOOKS}/`],
    ['an alias', OLD],
    ['an alias with a slash', `${OLD}/`],
    ['an alias that is no address', 'urn:books'],
  ])('%s, and its tokens have the identifier', async (_what, resource) => {
    expect(audienceOf(await getToken(server, service, { resource }))).toBe(BOOKS)
  })

  test('several of its names at once, which are one', async () => {
    const asked: [string, string][] = [OLD, `${BOOKS}/`, BOOKS].map((one) => ['resource', one])
    expect(audienceOf(await getToken(server, service, asked))).toBe(BOOKS)
  })

  test('the issuer, with a slash or not', async () => {
    for (const resource of [server.url, `${server.url}/`])
      expect(audienceOf(await getToken(server, service, { resource }))).toBe(server.url)
  })

  test.each([`${BOOKS}//`, OLD.toUpperCase(), `${OLD}?a=b`, 'https://books.example', 'urn:book'])(
    'not by %s',
    async (resource) => {
      const refused = await requestToken(server, service, { resource })
      expect(await errorOf(refused)).toEqual([400, 'invalid_target'])
    },
  )

  test('one that differs from another in a slash is itself', async () => {
    await resources.saveResource({ resource: `${MUSIC}/` })
    await resources.saveScope({ name: 'dance', resource: `${MUSIC}/` })
    const both = await createClient(server, { scope: ['play', 'dance'] })
    for (const resource of [MUSIC, `${MUSIC}/`])
      expect(audienceOf(await getToken(server, both, { resource }))).toBe(resource)
    await resources.deleteScope('dance').catch(() => undefined)
    await resources.deleteResource(`${MUSIC}/`)
    expect(audienceOf(await getToken(server, both, { resource: `${MUSIC}/`, scope: 'play' }))).toBe(MUSIC)
  })

  test('names that come and go are known at once', async () => {
    const other = 'https://came.example'
    const ask = async () => requestToken(server, service, { resource: other })
    expect(await errorOf(await ask())).toEqual([400, 'invalid_target'])
    await resources.saveResource({ resource: MUSIC, aliases: [other] })
    expect(decodeJwt(((await (await ask()).json()) as { access_token: string }).access_token).aud).toBe(MUSIC)
    await resources.saveResource({ resource: MUSIC, aliases: null })
    expect(await errorOf(await ask())).toEqual([400, 'invalid_target'])
  })
})

describe('people', () => {
  test('allow the resource, whatever it was called: what is remembered and bound is the identifier', async () => {
    const agent = createUserAgent(server.url)
    const first = await getTokens(server, { scope: 'read_books', resource: OLD }, agent)
    expect(audienceOf(first)).toBe(BOOKS)
    const [event] = (await audit.list({ type: 'consent.given' })).events
    expect(event!.details).toMatchObject({ resources: [BOOKS] })
    // Nothing is new about it by another name.
    const again = await agent.get(authorizationUrl(server, { scope: 'read_books', resource: `${BOOKS}/` }))
    const response = await exchange(server, answerOf(again).get('code')!, { resource: 'urn:books' })
    expect(audienceOf((await response.json()) as { access_token: string })).toBe(BOOKS)
  })

  test('with a token request nothing is widened, by any name', async () => {
    const scope = 'read_books play'
    const agent = createUserAgent(server.url)
    const page = await goThrough(agent, await agent.get(authorizationUrl(server, { scope, resource: OLD })))
    const code = answerOf(page).get('code')!
    expect(await errorOf(await exchange(server, code, { resource: MUSIC }))).toEqual([400, 'invalid_target'])
    const tokens = (await (await exchange(server, code)).json()) as { refresh_token: string }
    for (const resource of [MUSIC, `${MUSIC}/`, server.url])
      expect(await errorOf(await refresh(server, tokens.refresh_token, { resource }))).toEqual([400, 'invalid_target'])
    const less = await refresh(server, tokens.refresh_token, { resource: `${OLD}/` })
    expect(audienceOf((await less.json()) as { access_token: string })).toBe(BOOKS)
  }) // prettier-ignore

  test('an alias that goes to another resource meanwhile takes no approval along', async () => {
    const moving = 'https://moving.example'
    await resources.saveResource({ resource: BOOKS, aliases: [OLD, 'urn:books', moving] })
    const agent = createUserAgent(server.url)
    const scope = 'read_books play'
    const page = await goThrough(
      agent,
      await agent.get(authorizationUrl(server, { scope, resource: moving })),
    )
    await resources.saveResource({ resource: BOOKS, aliases: [OLD, 'urn:books'] })
    await resources.saveResource({ resource: MUSIC, aliases: [moving] })
    const tokens = (await (await exchange(server, answerOf(page).get('code')!)).json()) as {
      access_token: string
    }
    expect(audienceOf(tokens)).toBe(BOOKS)
    await resources.saveResource({ resource: MUSIC, aliases: null })
  })
})

describe('a request that names no resource', () => {
  test('is for the default one of its client, where a scope of it is granted', async () => {
    const own = await createClient(server, { scope: everything, default_resource: OLD })
    expect(audienceOf(await getToken(server, own))).toBe(BOOKS)
    expect(audienceOf(await getToken(server, own, { scope: 'play plain' }))).toEqual([MUSIC, server.url])
    expect(audienceOf(await getToken(server, own, { resource: MUSIC }))).toBe(MUSIC)
    await clients.update(own.clientId, { default_resource: null })
    expect(audienceOf(await getToken(server, own))).toEqual([BOOKS, MUSIC, server.url])
  })

  test('is bound to it when it is approved, and stays so', async () => {
    await clients.update('web', { default_resource: BOOKS })
    const agent = createUserAgent(server.url)
    const page = await goThrough(agent, await agent.get(authorizationUrl(server, { scope: 'openid read_books play' })))
    await clients.update('web', { default_resource: MUSIC })
    const tokens = (await (await exchange(server, answerOf(page).get('code')!)).json()) as { access_token: string; refresh_token: string }
    expect(audienceOf(tokens)).toBe(BOOKS)
    const next = (await (await refresh(server, tokens.refresh_token)).json()) as { access_token: string; refresh_token: string }
    expect(audienceOf(next)).toBe(BOOKS)
    expect(await errorOf(await refresh(server, next.refresh_token, { resource: MUSIC }))).toEqual([400, 'invalid_target'])
    await clients.update('web', { default_resource: null })
  }) // prettier-ignore

  test('is for the default one of the server, unless its client has another', async () => {
    const PORT = await freePort()
    const settings = { ...server.settings, PORT, OIDC_DEFAULT_RESOURCE: `${BOOKS}/` }
    await startServer(settings, { database: server.database })
    const other = requestsTo(`http://127.0.0.1:${PORT}`)
    const own = await createClient(server, { scope: everything, default_resource: MUSIC })
    expect(audienceOf(await getToken(other, service))).toBe(BOOKS)
    expect(audienceOf(await getToken(other, own))).toBe(MUSIC)
  })

  test.each(['books', 'https://books.example/#a', '', 7])('the default may not be %j', async (resource) => {
    const wrong = createClient(server, { scope: everything, default_resource: resource })
    await expect(wrong).rejects.toThrow('default_resource')
  })
})

test('nor that of the server', async () => {
  await expect(startServer({ OIDC_DEFAULT_RESOURCE: 'books' })).rejects.toThrow('OIDC_DEFAULT_RESOURCE')
})

describe('registration refuses', () => {
  test.each([
    [{ aliases: [MUSIC] }, `aliases hold ${MUSIC}, which is a resource of its own`],
    [{ aliases: [`${MUSIC}/`] }, `aliases hold ${MUSIC}/, which is a resource of its own`],
    [{ aliases: [`${OLD}/`] }, `aliases hold ${OLD}/, which is an alias of ${BOOKS}`],
    [{ aliases: ['https://new.example/'] }, 'aliases must not hold its identifier'],
    [{ aliases: ['https://a.example', 'https://a.example/'] }, 'aliases must differ in more than a slash at the end'],
    [{ aliases: ['books'] }, 'aliases must be at most 20 absolute URIs without a fragment'],
    [{ aliases: 'https://a.example' }, 'aliases must be at most 20 absolute URIs without a fragment'],
    [{ aliases: Array.from({ length: 21 }, (_, at) => `urn:a:${at}`) }, 'aliases must be at most 20 absolute'],
    [{ resource: OLD }, `resource is an alias of ${BOOKS}: take it away there first`],
    [{ resource: `${OLD}/` }, `resource is an alias of ${BOOKS}: take it away there first`],
  ])('%j', async (members, message) => {
    const before = await resources.listResources()
    const saved = resources.saveResource({ resource: 'https://new.example', ...members } as never)
    await expect(saved).rejects.toThrow(message)
    expect(await resources.listResources()).toEqual(before)
  }) // prettier-ignore

  test('the issuer as an alias, with a slash or not', async () => {
    for (const alias of [server.url, `${server.url}/`])
      await expect(resources.saveResource({ resource: MUSIC, aliases: [alias] })).rejects.toThrow(
        `aliases must not hold ${alias}, which is the default resource`,
      )
  })

  test('nothing where a resource says its own again, and the aliases of a deleted one are free', async () => {
    const [first, second] = ['https://first.example', 'https://second.example']
    await resources.saveResource({ resource: first, aliases: ['urn:shared'] })
    await resources.saveResource({ resource: first, aliases: ['urn:shared'], name: 'First' })
    expect(await resources.findResource(first)).toEqual({ resource: first, aliases: ['urn:shared'], name: 'First' })
    await resources.deleteResource(first)
    await resources.saveResource({ resource: second, aliases: ['urn:shared', first] })
    expect(await resources.findResource(second)).toEqual({ resource: second, aliases: [first, 'urn:shared'] })
    const [changed] = (await audit.list({ type: 'resource.registered' })).events
    expect(changed!.details).toMatchObject({ changes: { aliases: [null, [first, 'urn:shared']] } })
  }) // prettier-ignore
})
