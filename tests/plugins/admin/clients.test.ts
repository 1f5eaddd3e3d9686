/** Clients on the pages of the administration: what is typed is kept, what is secret is shown once. */
import { beforeAll, expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import { createUserAgent, findForm, type UserAgent } from '../../support/user-agent.ts'
import { alertOf, doneOn, openClient, register, ROOT, signedIn, textOf } from './administrator.ts'

const URI = 'https://app.example/callback'
const server = await startServer({}, { seed: { users: [ROOT] } })
const { clients } = server.server.oauth
let agent: UserAgent

beforeAll(async () => {
  agent = await signedIn(server)
})

test.each([
  // As by the command line: what follows from the rest is not fixed, and the method of authentication is open.
  ['web', { grant_types: ['authorization_code', 'refresh_token', 'client_credentials'], response_types: ['code'] }],
  ['app', { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none' }],
])('a client of type %s is registered with what it needs', async (type, expected) => {
  const client_id = `of-type-${type}`
  const page = await register(server, agent, type, { client_id, client_name: 'App', redirect_uris: `${URI}\r\n${URI}/2\r\n`, scope: 'a b' })
  expect(page.status).toBe(200)
  expect(textOf(page, 'client-id')).toBe(client_id)
  const client = { ...expected, client_name: 'App', redirect_uris: [URI, `${URI}/2`], scope: ['a', 'b'] }
  const found = await clients.find(client_id)
  expect(found).toMatchObject(client)
  expect(found?.token_endpoint_auth_method).toBe(type === 'web' ? undefined : 'none')
  const shown = await agent.get(`${server.url}/admin/client?client_id=${client_id}`)
  expect(textOf(shown, 'unregistered-scopes')).toBe('a b')
  expect(shown.body).toContain('register it under <a href="/admin/scopes">Scopes and resources</a>')
}) // prettier-ignore

test('a web app by its preset may send its secret in the form', async () => {
  const page = await register(server, agent, 'web', { client_id: 'posting', redirect_uris: URI, scope: 'a' })
  const client_secret = textOf(page, 'client-secret')!
  const form = { grant_type: 'client_credentials', client_id: 'posting', client_secret }
  expect((await server.post('/token', form)).status).toBe(200)
})

test('a service is registered with client_credentials alone, and an id that is made', async () => {
  const page = await register(server, agent, 'service', { scope: 'a' })
  expect(await clients.find(textOf(page, 'client-id')!)).toMatchObject({
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
  })
})

test('a service is registered by what stands in its certificate, where those are asked for', async () => {
  const asking = await startServer(
    { CLIENT_CERTIFICATE_HEADER: 'client-cert', CLIENT_CERTIFICATE_AUTHORITIES: 'proxy' },
    { seed: { users: [ROOT] } },
  )
  const here = await signedIn(asking)
  const method = { client_id: 'reports', token_endpoint_auth_method: 'tls_client_auth', scope: 'a' }
  const refused = await register(asking, here, 'service', method)
  expect([refused.status, findForm(refused, 'client')?.fields]).toEqual([400, expect.objectContaining({ tls_client_auth_subject_dn: '' })])
  expect(refused.body).toContain('exactly one of tls_client_auth_subject_dn')
  const dn = 'CN=reports,O=Example'
  const page = await register(asking, here, 'service', { ...method, tls_client_auth_subject_dn: dn })
  expect(page.status).toBe(200)
  expect(findForm(page, 'client')?.fields).toMatchObject({ tls_client_auth_subject_dn: dn })
  expect(textOf(page, 'snippet')).toContain('client.TlsClientAuth()')
  expect(await asking.server.oauth.clients.find('reports')).toMatchObject({ tls_client_auth_subject_dn: dn })
  const without = await agent.get(`${server.url}/admin/clients/new?type=service`)
  expect(findForm(without, 'client')!.fields).not.toHaveProperty('tls_client_auth_subject_dn')
}) // prettier-ignore

test('a secret is shown once, to whom it was made for, and lies nowhere in the clear', async () => {
  const former = server.output().length
  const page = await register(server, agent, 'service', { scope: 'a' })
  const [secret, clientId] = [textOf(page, 'client-secret')!, textOf(page, 'client-id')!]
  // The first one, as any later one, is named as what it is.
  expect(/<title>([^<]*)/.exec(page.body)?.[1]).toMatch(/^The secret of /)
  expect(await clients.hasSecret(clientId, secret)).toBe(true)
  expect(textOf(page, 'env')).toContain(`OIDC_CLIENT_SECRET=${secret}`)
  const again = await agent.get(page.url)
  expect([again.status, again.body.includes(secret)]).toEqual([410, false])
  for (const path of ['/clients', `/client?client_id=${clientId}`, `/client?client_id=${clientId}&saved=yes`])
    expect((await agent.get(`${server.url}/admin${path}`)).body).not.toContain('lks_')
  const stored = await server.database.query('select * from artifacts')
  expect(JSON.stringify(stored)).not.toContain(secret)
  expect(server.output().slice(former)).not.toContain(secret)
})

test('a secret that waits to be shown is for one session, and sealed', async () => {
  const { action, fields } = findForm(
    await agent.get(`${server.url}/admin/clients/new?type=service`),
    'client',
  )!
  const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
  const made = await server.post(action, { ...fields, client_id: 'waiting' }, { cookie, origin: server.url })
  const address = `${server.url}${made.headers.get('location')}`
  expect(made.status).toBe(303)
  const stored = JSON.stringify(await server.database.query('select * from artifacts'))
  expect(stored).toContain('waiting')
  expect(stored).not.toContain('lks_')
  expect((await (await signedIn(server)).get(address)).status).toBe(410)
  const shown = await Promise.all([agent.get(address), agent.get(address)])
  expect(shown.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 410])
})

test.each(['', 'chosen-twice'])('by a form that is sent twice, one client is registered, and either answer leads to its secret: %j', async (chosen) => {
  const { action, fields } = findForm(await agent.get(`${server.url}/admin/clients/new?type=service`), 'client')!
  const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
  const name = `twice-${chosen}`
  const send = async () => {
    const form = { ...fields, client_id: chosen, client_name: name }
    const { status, headers } = await server.post(action, form, { cookie, origin: server.url })
    return [status, headers.get('location')]
  }
  const [one, other] = await Promise.all([send(), send()])
  expect([one[0], other]).toEqual([303, one])
  // For as long as nobody has seen it.
  await server.database.query(`update artifacts set expires_at = expires_at - interval '4 minutes'`)
  expect(await send()).toEqual(one)
  const shown = await agent.get(`${server.url}${one[1]}`)
  const clientId = textOf(shown, 'client-id')!
  expect(await clients.hasSecret(clientId, textOf(shown, 'client-secret')!)).toBe(true)
  expect(await server.database.query('select from audit_events where type = $1 and details::text like $2', ['client.registered', `%${name}"%`])).toHaveLength(1)
  // Once it was seen, it is not shown again.
  const again = await send()
  expect([again[0], again.join()]).toEqual([303, expect.not.stringContaining('handle')])
  // Deleted, and registered again by the form that the browser went back to.
  await clients.delete(clientId)
  const later = await agent.get(`${server.url}${(await send())[1]}`)
  expect(await clients.hasSecret(clientId, textOf(later, 'client-secret')!)).toBe(true)
}) // prettier-ignore

test.each(['', 'public-twice'])('by a form that is sent twice, one client without a secret is registered, and each answer leads to it: %j', async (chosen) => {
  const { action, fields } = findForm(await agent.get(`${server.url}/admin/clients/new?type=app`), 'client')!
  const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
  const send = async () => {
    const form = { ...fields, client_id: chosen, client_name: 'Public twice', redirect_uris: URI }
    const { status, headers } = await server.post(action, form, { cookie, origin: server.url })
    return [status, headers.get('location')!] as const
  }
  const [one, other] = await Promise.all([send(), send()])
  expect([one[0], other, await send()]).toEqual([303, one, one])
  const shown = await agent.get(`${server.url}${one[1]}`)
  expect([shown.status, shown.body.includes('Public twice')]).toEqual([200, true])
  // Another form, which names what somebody has by now.
  const taken = await agent.submit(await agent.get(`${server.url}/admin/clients/new?type=app`), 'client', {
    client_id: new URL(one[1], server.url).searchParams.get('client_id')!,
    redirect_uris: URI,
  })
  expect([taken.status, textOf(taken, 'client_id-error')]).toEqual([400, 'Is already registered.'])
}) // prettier-ignore

test('a form that was mended, and is sent again as its answer was lost, says that it has registered the client, and saves by one button more', async () => {
  const { action, fields } = findForm(await agent.get(`${server.url}/admin/clients/new?type=web`), 'client')!
  const form = { ...fields, client_name: 'Mended', redirect_uris: 'https://app.example/callbak' }
  await agent.post(action, form)
  const said = await agent.post(action, { ...form, redirect_uris: URI })
  expect([said.status, said.body]).toEqual([400, expect.stringContaining('This form has registered the client before')])
  const { client_id: id } = findForm(said, 'client')!.fields
  expect(await clients.find(id!)).toMatchObject({ redirect_uris: ['https://app.example/callbak'] })
  expect((await agent.submit(said, 'client')).status).toBe(200)
  expect(await clients.find(id!)).toMatchObject({ client_name: 'Mended', redirect_uris: [URI] })
}) // prettier-ignore

test('a secret is replaced once by a form that is sent twice, and either answer leads to the new one', async () => {
  const { client_id: clientId, client_secret: first } = await clients.create({ client_id: 'twice', scope: ['a'] })
  const elsewhere = await signedIn(server)
  const seen = await openClient(server, elsewhere, clientId!)
  const { action, fields } = findForm(await openClient(server, agent, clientId!), 'rotate-secret')!
  const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
  const send = async () => {
    const { status, headers } = await server.post(action, { ...fields, overlap: '3600' }, { cookie, origin: server.url })
    return [status, headers.get('location')]
  }
  const [one, other] = await Promise.all([send(), send()])
  expect([one[0], other]).toEqual([303, one])
  const shown = await agent.get(`${server.url}${one[1]}`)
  for (const secret of [first!, textOf(shown, 'client-secret')!]) expect(await clients.hasSecret(clientId!, secret)).toBe(true)
  expect(await server.database.query(`select id from client_secrets where client_id = 'twice'`)).toHaveLength(2)
  // By who has seen the former one: nothing is done, and the page says how to get another.
  expect((await elsewhere.submit(seen, 'rotate-secret', { overlap: '0' })).status).toBe(410)
  expect(await clients.hasSecret(clientId!, first!)).toBe(true)
}) // prettier-ignore

test.each([
  ['redirect_uris', `${URI}\n/callback`, 'Line 2: Must be an absolute URI.'],
  ['redirect_uris', `${URI}#a`, 'Must not have a fragment.'],
  ['post_logout_redirect_uris', `${URI}\n\n${URI}\njavascript:alert(1)`, 'Line 3: Must not use the scheme javascript:.'],
  ['client_name', 'x'.repeat(201), 'Must not have more than 200 characters.'],
  ['scope', 'a "b"', 'Must hold scope names of RFC 6749 section 3.3.'],
  ['grant_types', 'authorization_code made_up', 'Names made_up, which no plugin serves here.'],
  ['token_endpoint_auth_method', 'made_up', 'Names made_up, which no plugin serves here.'],
  ['logo_uri', 'javascript:alert(1)', 'Must be an absolute http or https URL without a fragment.'],
  ['default_max_age', 'an hour', 'This must be a whole number'],
  ['default_max_age', '9999999999', 'This must be a whole number, of nine digits at most.'],
  ['subject_type', 'made_up', 'Must be'],
  ['frontchannel_logout_uri', 'https://evil.example/out', 'Must have the scheme, host and port of a redirect URI.'],
  ['id_token_signed_response_alg', 'HS256', 'Must be one of RS256, ES256, PS256, EdDSA, ES384, ES512, ML-DSA-44 and ML-DSA-65.'],
  ['require_consent', 'perhaps', 'Must be boolean.'],
  ['client_id', 'taken', 'Is already registered.'],
  ['client_id', 'ü', 'Must have only ASCII characters'],
])('what is wrong with %s is said at its field, and all that was typed is kept: %j', async (name, text, message) => {
  if (text === 'taken') await clients.create({ client_id: 'taken' })
  const before = await clients.list()
  const typed = { client_name: 'Typed <&"', redirect_uris: URI, tos_uri: 'https://app.example/tos', [name]: text }
  const page = await register(server, agent, 'web', typed)
  expect([page.status, textOf(page, `${name}-error`)]).toEqual([400, expect.stringContaining(message)])
  expect(page.body).toMatch(/<title>Error: /)
  expect(findForm(page, 'client')!.fields).toMatchObject(typed)
  expect(await clients.list()).toEqual(before)
}) // prettier-ignore

test('an edit changes what was changed, and leaves defaults and what has no field as they are', async () => {
  const given = { client_id: 'edited', redirect_uris: [URI], logo_uri: URI, contacts: ['a@b.example'], default_max_age: 60 }
  await clients.create({ ...given, scope: ['a'] })
  const page = await openClient(server, agent, 'edited')
  const saved = await agent.submit(page, 'client', { scope: ' b  a ', logo_uri: '', client_name: 'Edited' })
  expect([saved.status, saved.body]).toEqual([200, expect.stringContaining('role="status"')])
  const expected = { contacts: ['a@b.example'], default_max_age: 60, scope: ['b', 'a'], client_name: 'Edited' }
  const client = (await clients.find('edited'))!
  expect(client).toMatchObject(expected)
  expect('logo_uri' in client).toBe(false)
  const [row] = await server.database.query(`select grant_types, token_endpoint_auth_method from clients where client_id = 'edited'`)
  expect(row).toEqual({ grant_types: null, token_endpoint_auth_method: null })
}) // prettier-ignore

test('more scopes than a line shows stand in several lines, and are the same when they are saved', async () => {
  const scope = Array.from({ length: 12 }, (_, at) => `api:read:${at}`)
  await clients.create({ client_id: 'beyond-a-line', redirect_uris: [URI], scope })
  const page = await openClient(server, agent, 'beyond-a-line')
  expect(page.body).toMatch(/<textarea id="scope"/)
  const { action, fields } = findForm(page, 'client')!
  expect(fields['scope']).toBe(scope.join(' '))
  await agent.post(action, { ...fields, scope: `${fields['scope']}\r\napi:write` })
  expect((await clients.find('beyond-a-line'))?.scope).toEqual([...scope, 'api:write'])
})

test('how people sign in to it and out of it is chosen, read back, and taken away again', async () => {
  const chosen = { require_consent: 'false', dpop_bound_access_tokens: 'true', require_pushed_authorization_requests: 'true', default_max_age: '600', minimum_acr_value: '2', subject_type: 'pairwise', id_token_signed_response_alg: 'ES256', backchannel_logout_uri: 'https://app.example/out', backchannel_logout_session_required: 'true' }
  const made = await register(server, agent, 'web', { client_id: 'choosy', redirect_uris: URI, ...chosen })
  expect(made.status).toBe(200)
  const members = { require_consent: false, dpop_bound_access_tokens: true, require_pushed_authorization_requests: true, default_max_age: 600, minimum_acr_value: '2', subject_type: 'pairwise', id_token_signed_response_alg: 'ES256', backchannel_logout_uri: 'https://app.example/out', backchannel_logout_session_required: true }
  expect(await clients.find('choosy')).toMatchObject(members)
  const page = await openClient(server, agent, 'choosy')
  expect(findForm(page, 'client')!.fields).toMatchObject(chosen)
  const none = Object.fromEntries(Object.keys(chosen).map((name) => [name, '']))
  expect((await agent.submit(page, 'client', none)).status).toBe(200)
  for (const name of Object.keys(chosen)) expect(await clients.find('choosy')).not.toHaveProperty(name)

  const here = await register(server, agent, 'web', { redirect_uris: 'http://127.0.0.1/', require_consent: 'false' })
  expect([here.status, textOf(here, 'require_consent-error')]).toEqual([400, expect.stringContaining('Must not be false')])
}) // prettier-ignore

test('how its answers are signed and encrypted is chosen among what is made here, by the rules of the command line', async () => {
  const isOpen = (body: string) => /<details open>\s*<summary>Signed and encrypted answers/.test(body)
  const key = { kty: 'EC', crv: 'P-256', x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4', y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM' }
  const members = {
    id_token_signed_response_alg: 'ES384', id_token_encrypted_response_alg: 'ECDH-ES', id_token_encrypted_response_enc: 'A256GCM',
    userinfo_signed_response_alg: 'RS256', userinfo_encrypted_response_alg: 'ECDH-ES+A128KW', userinfo_encrypted_response_enc: 'A128GCM',
    authorization_signed_response_alg: 'PS256', authorization_encrypted_response_alg: 'ECDH-ES', authorization_encrypted_response_enc: 'A256CBC-HS512',
    introspection_signed_response_alg: 'EdDSA', introspection_encrypted_response_alg: 'ECDH-ES', introspection_encrypted_response_enc: 'A256GCM',
  }
  const form = { client_id: 'sealed', redirect_uris: URI, ...members }
  expect(isOpen((await agent.get(`${server.url}/admin/clients/new?type=web`)).body)).toBe(false)
  const keyless = await register(server, agent, 'web', form)
  expect([keyless.status, isOpen(keyless.body)]).toEqual([400, true])
  expect(keyless.body).toMatch(/_encrypted_response_alg-error">Needs a key for it in jwks, or jwks_uri[.]/)
  expect((await register(server, agent, 'web', { ...form, jwks: JSON.stringify({ keys: [key] }) })).status).toBe(200)
  expect(await clients.find('sealed')).toMatchObject(members)
  const page = await openClient(server, agent, 'sealed')
  expect(isOpen(page.body)).toBe(true)
  expect(findForm(page, 'client')!.fields).toMatchObject(members)
  const half = await agent.submit(page, 'client', { userinfo_encrypted_response_alg: '' })
  expect([half.status, textOf(half, 'userinfo_encrypted_response_enc-error')]).toEqual([400, 'Needs userinfo_encrypted_response_alg.'])
  expect((await agent.submit(page, 'client', Object.fromEntries(Object.keys(members).map((name) => [name, ''])))).status).toBe(200)
  for (const name of Object.keys(members)) expect(await clients.find('sealed')).not.toHaveProperty(name)
}) // prettier-ignore

test('a new client is asked for little: the rest is shut, until something of it is set or wrong', async () => {
  const seen = ({ body }: { body: string }) =>
    Array.from(body.split('<main')[1]!.matchAll(/<details( open)?>\s*<summary>([^<]+)/g), ([, open, title]) => [title, open !== undefined])
  const shown = ({ body }: { body: string }) =>
    Array.from(body.split('<main')[1]!.split('<details')[0]!.matchAll(/<(?:input|textarea|select) id="([^"]+)"/g), ([, id]) => id)
  const web = await agent.get(`${server.url}/admin/clients/new?type=web`)
  expect(shown(web)).toEqual(['client_name', 'client_id', 'redirect_uris', 'post_logout_redirect_uris', 'scope'])
  expect(seen(web).filter(([, open]) => open)).toEqual([])
  expect(seen(web).map(([title]) => title)).toEqual(expect.arrayContaining(['Protocol', 'Signing people in', 'Shown to people']))
  // A service has nobody who comes back; what is shut is sent all the same.
  const service = await agent.get(`${server.url}/admin/clients/new?type=service`)
  expect(shown(service)).toEqual(['client_name', 'client_id', 'scope'])
  expect(seen(service).filter(([, open]) => open)).toEqual([])
  expect((await register(server, agent, 'service', { client_id: 'shut' })).status).toBe(200)
  expect(await clients.find('shut')).toMatchObject({ grant_types: ['client_credentials'] })
  const wrong = await register(server, agent, 'web', { redirect_uris: URI, logo_uri: 'nowhere' })
  expect(wrong.status).toBe(400)
  expect(seen(wrong).filter(([, open]) => open)).toEqual([['Shown to people', true]])
}) // prettier-ignore

test('settings that few apps need are shut until one of them is set', async () => {
  const opened = ({ body }: { body: string }) => /<details( open)?>\s*<summary>Less common settings of the protocol/.exec(body)![1]
  expect(opened(await agent.get(`${server.url}/admin/clients/new?type=web`))).toBeUndefined()
  await register(server, agent, 'web', { client_id: 'uncommon', redirect_uris: URI, access_token_format: 'opaque' })
  const page = await openClient(server, agent, 'uncommon')
  expect([opened(page), findForm(page, 'client')!.fields['access_token_format']]).toEqual([' open', 'opaque'])
}) // prettier-ignore

test('what nobody makes here is not offered, and stays where it is registered', async () => {
  const WITHOUT = 'latchkey-encryption,latchkey-jarm,latchkey-jwt-introspection'
  const less = await startServer({ WITHOUT }, { seed: { users: [ROOT] } })
  await less.server.oauth.clients.create({ client_id: 'before', redirect_uris: [URI] })
  await less.database.query(
    `update clients set metadata = metadata || '{"authorization_signed_response_alg":"ES256"}' where client_id = 'before'`,
  )
  const here = await signedIn(less)
  const { fields } = findForm(await openClient(less, here, 'before'), 'client')!
  expect(Object.keys(fields).filter((name) => /_(?:signed|encrypted)_response_/.test(name))).toEqual([
    'id_token_signed_response_alg',
    'userinfo_signed_response_alg',
    'authorization_signed_response_alg',
  ])
  expect(fields).toMatchObject({ authorization_signed_response_alg: 'ES256' })
})

test('its public keys are pasted as JSON, and refused at their field', async () => {
  await clients.create({ client_id: 'keyed', scope: ['a'] })
  const key = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: 'one' }
  const wrong: [string, string][] = [
    ['no JSON', 'This must be JSON.'],
    ['{"keys":[],"keys":[]}', 'This has keys twice in one object: leave one of them.'],
    [
      JSON.stringify({ keys: [{ ...key, d: 'AAAA' }] }),
      expect.stringContaining('Must hold public keys alone'),
    ],
  ]
  for (const [jwks, problem] of wrong) {
    const page = await agent.submit(await openClient(server, agent, 'keyed'), 'client', { jwks })
    expect([page.status, textOf(page, 'jwks-error')]).toEqual([400, problem])
  }
  const typed = { jwks: JSON.stringify({ keys: [key] }, null, 2) }
  const page = await agent.submit(await openClient(server, agent, 'keyed'), 'client', typed)
  expect(page.status).toBe(200)
  expect(await clients.find('keyed')).toMatchObject({ jwks: { keys: [key] } })
  expect(JSON.parse(findForm(page, 'client')!.fields['jwks']!)).toEqual({ keys: [key] })
  expect((await agent.submit(page, 'client', { jwks: '' })).status).toBe(200)
  expect(await clients.find('keyed')).not.toHaveProperty('jwks')
})

test('an edit that is refused changes nothing, and says where', async () => {
  await clients.create({ client_id: 'refused', redirect_uris: [URI] })
  const page = await openClient(server, agent, 'refused')
  const fields = { client_name: 'Other', redirect_uris: 'nowhere' }
  const refused = await agent.submit(page, 'client', fields)
  expect([refused.status, textOf(refused, 'redirect_uris-error')]).toEqual([400, 'Must be an absolute URI.'])
  expect(findForm(refused, 'client')!.fields).toMatchObject(fields)
  expect(await clients.find('refused')).not.toHaveProperty('client_name')
  expect((await agent.submit(refused, 'client', { redirect_uris: URI })).status).toBe(200)
})

test('a form that was opened before somebody else saved undoes nothing unseen', async () => {
  await clients.create({ client_id: 'shared', scope: ['a'] })
  const page = await openClient(server, agent, 'shared')
  await clients.update('shared', { scope: ['a', 'b'] })
  const asked = await agent.submit(page, 'client', { client_name: 'Mine' })
  expect([asked.status, asked.body]).toEqual([400, expect.stringContaining('changed meanwhile')])
  expect(await clients.find('shared')).toMatchObject({ scope: ['a', 'b'] })
  expect(findForm(asked, 'client')!.fields).toMatchObject({ client_name: 'Mine', scope: 'a' })
  expect((await agent.submit(asked, 'client', { scope: 'a b c' })).status).toBe(200)
  expect(await clients.find('shared')).toMatchObject({ client_name: 'Mine', scope: ['a', 'b', 'c'] })
})

test('a client is deleted once its id was typed', async () => {
  await clients.create({ client_id: 'ends here' })
  const page = await openClient(server, agent, 'ends here')
  const refused = await agent.submit(page, 'delete-client', { confirm_client_id: 'ends' })
  expect([refused.status, textOf(refused, 'confirm_client_id-error')]).toEqual([400, expect.any(String)])
  expect(alertOf(refused)).toContain(
    'This is not the client ID of this client. <a href="#confirm_client_id">',
  )
  expect(await clients.find('ends here')).not.toBeNull()
  const list = await agent.submit(refused, 'delete-client', { confirm_client_id: 'ends here' })
  expect([list.url, await clients.find('ends here')]).toEqual([
    `${server.url}/admin/clients?removed=yes`,
    null,
  ])
  expect(doneOn(list)).toBe('The client is deleted.')
  expect((await openClient(server, agent, 'ends here')).status).toBe(404)
})

test('any client_id has a page, whatever characters it is made of', async () => {
  for (const client_id of ['..', '../x', 'a/b?c=d&e#f', '%2e%2e', '"><script>', `it's`, ' ~ ']) {
    await clients.create({ client_id, client_name: `<b>${client_id}`, scope: ['a'] })
    const list = await agent.get(`${server.url}/admin/clients`)
    expect(list.body).toContain(`client_id=${encodeURIComponent(client_id).replaceAll('%20', '+').replaceAll("'", '%27').replaceAll('~', '%7E')}"`)
    const page = await openClient(server, agent, client_id)
    expect([client_id, page.status]).toEqual([client_id, 200])
    expect(page.body).not.toContain('<b>')
    const saved = await agent.submit(page, 'client', { client_name: 'Saved' })
    expect([client_id, saved.status, (await clients.find(client_id))?.client_name]).toEqual([client_id, 200, 'Saved'])
    await clients.delete(client_id)
  }
}) // prettier-ignore

test('the list goes on from page to page, and shows every client once', async () => {
  const many = Array.from({ length: 120 }, (_, at) => `many-${String(at).padStart(3, '0')}`)
  for (const client_id of many) await clients.create({ client_id, client_name: `Many ${client_id}` })
  const goOn = async (first: string): Promise<string[]> => {
    const seen: string[] = []
    for (let next: string | undefined = `${server.url}/admin/clients${first}`; next !== undefined;) {
      const page = await agent.get(next)
      const ids = [...page.body.matchAll(/<td[^>]*><code>([^<]*)<\/code><\/td>/g)].map(([, id]) => id!)
      expect(ids.length).toBeLessThanOrEqual(50)
      seen.push(...ids)
      const path = /rel="next" href="([^"]*)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&')
      next = path && new URL(path, page.url).href
    }
    return seen
  }
  // Whatever is found by both its names is still found once.
  for (const text of ['many-', 'many', 'MANY%20M'])
    expect((await goOn(`?search=${text}`)).toSorted()).toEqual(many)
  const seen = await goOn('')
  expect(seen).toEqual((await clients.list('', 1000)).map(({ client_id: id }) => id))
  expect(seen.length).toBeGreaterThan(120)
})

test('a search is in the address, and shows what it found, or that it found nothing', async () => {
  await clients.create({ client_id: 'invoices', client_name: 'Billing & more' })
  const list = await agent.get(`${server.url}/admin/clients`)
  expect(list.body).toContain('role="search"')
  const find = async (search: string) =>
    agent.get(`${server.url}/admin/clients?${new URLSearchParams({ search }).toString()}`)
  for (const text of ['inv', ' billing & ', 'BILL']) {
    const { body } = await find(text)
    expect([...body.matchAll(/<td[^>]*><code>([^<]*)<\/code><\/td>/g)].map(([, id]) => id)).toEqual([
      'invoices',
    ])
  }
  const nothing = await find('"><b>')
  expect([nothing.status, nothing.body]).toEqual([200, expect.stringContaining('None was found.')])
  expect(nothing.body).toContain('value="&quot;&gt;&lt;b&gt;"')
})

test('a contrast is said with the numbers of the reader’s language', async () => {
  await clients.create({ client_id: 'pale', redirect_uris: [URI], brand_color: '#ffcc00' })
  const german = createUserAgent(server.url, { 'accept-language': 'de' })
  await german.submit(await german.get(`${server.url}/sign-in`), 'login', {
    username: ROOT.username,
    password: ROOT.password,
  })
  const { body } = await openClient(server, german, 'pale')
  expect(body).toContain('einen Kontrast von 1,3, und Text braucht 4,5')
})

test('an address that the server itself will not ask is said to be so, with the setting that lets it be asked', async () => {
  const asked = { redirect_uris: [URI], backchannel_logout_uri: 'http://localhost:4310/out' }
  await clients.create({ client_id: 'at-home', ...asked })
  const { body } = await agent.get(`${server.url}/admin/client?client_id=at-home`)
  expect(body).toContain(
    'This server does not ask the address <code><bdi>backchannel_logout_uri</bdi></code>, since it is not https. The setting <code>UNSAFE_OUTBOUND_ORIGINS=<bdi>http://localhost:4310</bdi></code> lets it be asked.',
  )
})
