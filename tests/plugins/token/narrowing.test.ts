/** A parameter that was approved, sent again with a token request: that access token is for less, what was approved stays. */
import { decodeJwt } from 'jose'
import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { answerOf, authorizationUrl, authorize, REDIRECT_URI, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent } from '../../support/user-agent.ts'

const OPAQUE = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const SERVICE = { client_id: 'service', client_secret: WEB.client_secret, scope: ['read_books'] }

const server = await startServer(
  { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  {
    seed: { ...SEED, clients: [WEB, OPAQUE, SERVICE] },
    extend({ oauth }) {
      const names = (raw: unknown): string[] | undefined => (typeof raw === 'string' ? raw.split(',') : undefined)
      oauth.add('parameter', {
        name: 'shelves',
        schema: Type.String({ pattern: '^[a-z,]*$' }),
        kept: 'approved_shelves',
        parse: names,
        narrow(had, asked, client) {
          const approved = had ?? (client.clientId === 'service' ? ['lobby'] : [])
          const [all, some] = [approved as string[], asked as string[]]
          if (!some.every((name) => all.includes(name)))
            throw new OAuthError('invalid_shelves', 'more than was approved')
          return some
        },
      })
      oauth.add('parameter', { name: 'plain', schema: Type.String(), kept: true })
      oauth.add('parameter', {
        name: 'labels',
        schema: Type.String(),
        kept: true,
        parse: (raw) => (raw === undefined ? undefined : (JSON.parse(String(raw)) as unknown)),
        narrow: (_had, asked) => asked,
      })
      for (const document of ['access_token', 'tokenResponse'] as const)
        oauth.extend(document, ['shelves', 'plain'], async ({ parameters }) => ({
          shelves: parameters?.['approved_shelves'],
          plain: parameters?.['plain'],
        }))
      oauth.extend('introspection', ['shelves'], async ({ claims }) => ({ shelves: claims['shelves'] }))
    },
  },
) // prettier-ignore

type Sent = Record<string, string>
interface Told {
  status: number
  error?: string
  access_token: string
  refresh_token: string
  shelves?: string[]
}

async function ask(client: string, form: Sent): Promise<Told> {
  const response = await server.post('/token', form, basic(client, WEB.client_secret))
  return { status: response.status, ...((await response.json()) as Omit<Told, 'status'>) }
}

const agent = createUserAgent(server.url)
async function exchanged(client: string, more: Sent = {}, asked: Sent = { shelves: 'a,b,c' }): Promise<Told> {
  const answer = await authorize(server, { client_id: client, ...asked }, agent)
  const form = { grant_type: 'authorization_code', code: answer.get('code') ?? '', redirect_uri: REDIRECT_URI }
  return ask(client, { ...form, ...more })
} // prettier-ignore

const refreshed = async (client: string, { refresh_token: token }: Told, more: Sent = {}): Promise<Told> =>
  ask(client, { grant_type: 'refresh_token', refresh_token: token, ...more })

async function shelvesOf(client: string, { access_token: token }: Told): Promise<unknown> {
  const told = await server.post('/introspect', { token }, basic(client, WEB.client_secret))
  return ((await told.json()) as Told).shelves
}

describe.each(['web', 'opaque'])('%s', (client) => {
  test('a refresh that asks for less gets less, in the token and in its answer; the next one has all again', async () => {
    const first = await exchanged(client)
    expect([first.shelves, await shelvesOf(client, first)]).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ])
    const less = await refreshed(client, first, { shelves: 'a' })
    expect([less.shelves, await shelvesOf(client, less)]).toEqual([['a'], ['a']])
    const other = await refreshed(client, less, { shelves: 'b,c' })
    expect([other.shelves, await shelvesOf(client, other)]).toEqual([
      ['b', 'c'],
      ['b', 'c'],
    ])
    const all = await refreshed(client, other)
    expect([all.shelves, await shelvesOf(client, all)]).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ])
  })

  test('so does an exchange, and the family keeps what was approved', async () => {
    const less = await exchanged(client, { shelves: 'b' })
    expect([less.shelves, await shelvesOf(client, less)]).toEqual([['b'], ['b']])
    const rows = await server.database.query(
      `select parameters->'approved_shelves' as shelves, parameters ? 'approvedParameters' as nested from authorizations order by created_at desc limit 1`,
    )
    expect(rows).toEqual([{ shelves: ['a', 'b', 'c'], nested: false }])
    expect((await refreshed(client, less)).shelves).toEqual(['a', 'b', 'c'])
  })
})

test('more than was approved is refused with its own error, and nothing is spent', async () => {
  const first = await exchanged('web', {}, { shelves: 'a,b' })
  expect(await refreshed('web', first, { shelves: 'a,c' })).toMatchObject({
    status: 400,
    error: 'invalid_shelves',
  })
  expect(await refreshed('web', first, { shelves: 'A' })).toMatchObject({
    status: 400,
    error: 'invalid_request',
  })
  expect((await refreshed('web', first, { shelves: 'a' })).shelves).toEqual(['a'])
})

test('what was not approved at all cannot be got by a token request', async () => {
  expect(await exchanged('web', { shelves: 'a' }, {})).toMatchObject({
    status: 400,
    error: 'invalid_shelves',
  })
})

test('a client that acts for itself may ask for what the parameter lets it have', async () => {
  const form = { grant_type: 'client_credentials' }
  expect(await ask('service', { ...form, shelves: 'lobby' })).toMatchObject({ shelves: ['lobby'] })
  expect(await ask('service', { ...form, shelves: 'attic' })).toMatchObject({ error: 'invalid_shelves' })
  expect(await ask('service', form)).not.toHaveProperty('shelves')
})

test('a parameter that does not narrow says nothing at the token endpoint', async () => {
  const first = await exchanged('web', {}, { plain: 'one' })
  expect(decodeJwt((await refreshed('web', first, { plain: 'two' })).access_token)['plain']).toBe('one')
})

test.each(['"a\\u0000b"', '"\\ud800"', '["\\u0000"]', '{"a":{"b":"\\ud800"}}'])(
  'what is read of a parameter can be stored, or is refused before anybody is asked: %s',
  async (labels) => {
    const answer = answerOf(await agent.get(authorizationUrl(server, { labels })))
    expect(answer.get('error')).toBe('invalid_request')
    for (const client of ['web', 'opaque'])
      expect(await exchanged(client, { labels })).toMatchObject({ status: 400, error: 'invalid_request' })
  },
)
