/**
 * Who may know of a token: both settings of OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE, each kind of caller, each
 * kind of token, each format.
 */
import { describe, expect, test } from 'vitest'
import { createClient, getToken, introspect } from '../../support/clients.ts'
import { startServer } from '../../support/server.ts'
import { addUserGrant, USER_GRANT } from '../../support/user-grant.ts'

const BOOKS = 'https://books.example'
const MUSIC = 'https://music.example'
const seed = {
  resources: [
    { resource: BOOKS, scopes: ['read'] },
    { resource: MUSIC, scopes: ['play'] },
  ],
}

async function start(validate: boolean) {
  const settings = { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: validate }
  const server = await startServer(settings, { seed, extend: addUserGrant })
  const grant_types = ['client_credentials', USER_GRANT]
  const scope = ['read', 'play']
  const owners = {
    jwt: await createClient(server, { client_id: 'signed', scope, grant_types }),
    opaque: await createClient(server, {
      client_id: 'opaque',
      scope,
      grant_types,
      access_token_format: 'opaque',
    }),
  }
  const names = ['signed', 'opaque']
  const callers = {
    'a stranger': await createClient(server, { scope: ['read', 'play'] }),
    'a client that names the owner': await createClient(server, { scope: names }),
    'a holder of token_introspection': await createClient(server, { scope: ['token_introspection'] }),
    'a holder of token_introspection that names another client': await createClient(server, {
      scope: ['token_introspection', 'else'],
    }),
    'a holder of token_introspection that names the owner': await createClient(server, {
      scope: ['token_introspection', ...names],
    }),
    'the resource': await createClient(server, { client_id: BOOKS }),
    'the resource that names the owner': await createClient(server, { client_id: MUSIC, scope: names }),
    'another resource': await createClient(server, { client_id: 'https://else.example' }),
  }
  return { server, owners, callers }
}

type Callers = Awaited<ReturnType<typeof start>>['callers']
type Caller = keyof Callers | 'the owner'
const ON = await start(true)
const OFF = await start(false)

/** Caller; for a user's token with the setting on and off; for a client's own token with it on and off. */
const MATRIX: [caller: Caller, userOn: boolean, userOff: boolean, ownOn: boolean, ownOff: boolean][] = [
  ['the owner', true, true, false, true],
  ['a stranger', false, false, false, false],
  ['a client that names the owner', false, false, false, false],
  ['a holder of token_introspection', false, true, false, true],
  ['a holder of token_introspection that names another client', false, true, false, true],
  ['a holder of token_introspection that names the owner', true, true, false, true],
  ['the resource', false, true, false, true],
  ['the resource that names the owner', true, true, false, true],
  ['another resource', false, false, false, false],
]

/** Of an inactive token everything that was told: it must be this one member. */
function summary(answer: Record<string, unknown>): string {
  return answer['active'] === true ? 'active' : JSON.stringify(answer)
}

const expected = (active: boolean): string => (active ? 'active' : '{"active":false}')

describe.each(['jwt', 'opaque'] as const)('a token that is %s', (format) => {
  test.each(MATRIX)('T10: asked for by %s', async (caller, userOn, userOff, ownOn, ownOff) => {
    const ask = async ({ server, owners, callers }: typeof ON, form: Record<string, string>) => {
      const owner = owners[format]
      const { access_token } = await getToken(server, owner, form)
      const who = caller === 'the owner' ? owner : callers[caller]
      return summary(await introspect(server, who, access_token))
    }
    const user = { grant_type: USER_GRANT, scope: 'read play', user: 'ada' }
    const own = { grant_type: 'client_credentials' }
    expect({
      user: [await ask(ON, user), await ask(OFF, user)],
      own: [await ask(ON, own), await ask(OFF, own)],
    }).toEqual({ user: [userOn, userOff].map(expected), own: [ownOn, ownOff].map(expected) })
  })
})

test('the issuer is the resource of scopes that nobody placed', async () => {
  const { server } = OFF
  const owner = await createClient(server, { scope: ['plain'] })
  const issuer = await createClient(server, { client_id: server.url })
  const { access_token } = await getToken(server, owner)
  expect(await introspect(server, issuer, access_token)).toMatchObject({ active: true, aud: server.url })
  expect(await introspect(server, OFF.callers['the resource'], access_token)).toEqual({ active: false })
})

test('a right that is assigned and saved counts at the next request', async () => {
  const { server, owners } = OFF
  const caller = await createClient(server, { scope: [] })
  const { access_token } = await getToken(server, owners.jwt)
  expect(await introspect(server, caller, access_token)).toEqual({ active: false })
  const stored = await server.server.oauth.clients.find(caller.clientId)
  await server.server.oauth.clients.save({ ...stored, scope: ['token_introspection'] })
  expect(await introspect(server, caller, access_token)).toMatchObject({ active: true })
})

test('the log says at debug why a token was told inactive, and nothing of the token', async () => {
  const { server, owners, callers } = ON
  const own = (await getToken(server, owners.jwt)).access_token
  const user = { grant_type: USER_GRANT, scope: 'read', user: 'ada' }
  const { access_token } = await getToken(server, owners.jwt, user)
  const right = callers['a holder of token_introspection']
  const reasonOf = async (caller: typeof right, token: string): Promise<unknown> => {
    const before = server.output().length
    expect(await introspect(server, caller, token)).toEqual({ active: false })
    const lines = server.output().slice(before)
    expect(lines).not.toContain(token)
    const line = lines.split('\n').find((one) => one.includes('introspection told a token inactive'))
    expect(JSON.parse(line!)).toMatchObject({ level: 'debug', client_id: caller.clientId })
    return (JSON.parse(line!) as { reason: unknown }).reason
  }
  expect(await reasonOf(right, own)).toBe(
    'a client got it for itself, and OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE is true',
  )
  expect(await reasonOf(right, access_token)).toBe(
    'the scope of who asks does not name its client, and OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE is true',
  )
  expect(await reasonOf(callers['a stranger'], access_token)).toBe(
    'it is of another client, for another audience, and the scope of who asks lacks token_introspection',
  )
  expect(await reasonOf(right, 'nonsense')).toBe('it is unknown, expired, revoked or of another issuer')
})
