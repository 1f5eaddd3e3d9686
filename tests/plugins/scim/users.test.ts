/** Users by SCIM (RFC 7644 §3): registered, read, replaced, patched and deleted by a directory. */
import { describe, expect, test, vi } from 'vitest'
import { bearer } from '../../support/requests.ts'
import { patchOf, scimAs, startScim, USER } from '../../support/scim.ts'
import { getTokens, refresh } from '../../support/sign-in.ts'
import { until } from '../../support/until.ts'
import { open, signedIn } from '../account/owner.ts'

const server = await startScim()
const { oauth } = server.server
const { users } = oauth
const call = await scimAs(server, 'directory')
const other = await scimAs(server, 'other')
const viewer = await scimAs(server, 'viewer')
const trusting = await startScim({ SCIM_TRUST_EMAIL: true })
const trusted = await scimAs(trusting, 'directory')
let count = 0

/** Somebody new, as SCIM answers. */
async function somebody(members: object = {}) {
  const { status, body } = await call('POST', '/Users', {
    schemas: [USER],
    userName: `person-${++count}`,
    ...members,
  })
  if (status !== 201) throw new Error(`nobody was registered: ${JSON.stringify(body)}`)
  return body as { id: string; userName: string; meta: { version: string } }
}

const WHOLE = {
  userName: 'Zoe@example.com',
  externalId: 'ext-1',
  name: { familyName: 'Eclair', givenName: 'Zoe', middleName: 'Q' },
  displayName: 'Zoe Eclair',
  nickName: 'Zo',
  profileUrl: 'https://zoe.example/',
  locale: 'en-GB',
  timezone: 'Europe/Berlin',
  emails: [{ value: 'zoe@example.com', type: 'work', primary: true }],
  phoneNumbers: [{ value: '+1 55', type: 'work' }],
  photos: [{ value: 'https://zoe.example/me.png', type: 'photo' }],
  addresses: [
    {
      formatted: '1 Way, Berlin',
      streetAddress: '1 Way',
      locality: 'Berlin',
      region: 'BE',
      postalCode: '10115',
      country: 'DE',
      type: 'work',
    },
  ],
  roles: [{ value: 'staff' }],
}

describe('registered', () => {
  test('they are as they were said to be, also in tokens, and sign in', async () => {
    const sent = {
      schemas: [USER],
      ...WHOLE,
      password: 'a password of zoe',
      id: 'mine',
      title: 'Dr',
      active: true,
    }
    const made = await call('POST', '/Users', sent)
    expect(made.status).toBe(201)
    expect(made.body).toEqual({
      schemas: [USER],
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ...WHOLE,
      active: true,
      meta: {
        resourceType: 'User',
        created: expect.stringMatching(/Z$/),
        lastModified: expect.stringMatching(/Z$/),
        location: `${server.url}/scim/v2/Users/${made.body.id}`,
        version: expect.stringMatching(/^W\/"[\w-]{22}"$/),
      },
    })
    expect(Object.fromEntries(made.headers)).toMatchObject({
      'content-type': 'application/scim+json',
      'cache-control': 'no-store',
      location: made.body.meta.location,
      etag: made.body.meta.version,
    })
    expect((await call('GET', `/Users/${made.body.id}`)).body).toEqual(made.body)
    await signedIn(server, { username: 'zoe@example.com', password: 'a password of zoe' })
    expect((await users.get(made.body.id)).claims).toEqual({
      name: 'Zoe Eclair',
      family_name: 'Eclair',
      given_name: 'Zoe',
      middle_name: 'Q',
      nickname: 'Zo',
      profile: 'https://zoe.example/',
      locale: 'en-GB',
      zoneinfo: 'Europe/Berlin',
      email: 'zoe@example.com',
      phone_number: '+1 55',
      picture: 'https://zoe.example/me.png',
      address: {
        formatted: '1 Way, Berlin',
        street_address: '1 Way',
        locality: 'Berlin',
        region: 'BE',
        postal_code: '10115',
        country: 'DE',
      },
    })
    const [event] = (await oauth.audit.list({ type: 'user.registered', user: made.body.id })).events
    expect(event!.actor).toEqual({ kind: 'client', id: 'directory' })
    expect(server.output()).not.toContain('a password of zoe')
    expect(await users.export(made.body.id)).toMatchObject({
      records: {
        'external-id': [{ client: 'directory', externalId: 'ext-1', created_at: expect.any(String) }],
      },
    })
  })

  test('who may not sign in yet does not', async () => {
    const { id } = await somebody({ active: false, password: 'a password of nobody' })
    expect((await users.get(id)).disabled).toBe(true)
    expect(
      (await call('PATCH', `/Users/${id}`, patchOf({ op: 'replace', path: 'active', value: true }))).body
        .active,
    ).toBe(true)
  })

  test('a patch that says nothing of it disables nobody anew: when that was, others go by', async () => {
    const { id } = await somebody({ active: false })
    const before = await users.get(id)
    const patch = patchOf({ op: 'replace', path: 'nickName', value: 'Nick' })
    expect((await call('PATCH', `/Users/${id}`, patch)).body).toMatchObject({
      active: false,
      nickName: 'Nick',
    })
    expect((await users.get(id)).disabledAt).toBe(before.disabledAt)
  })

  test.each([{ op: 'replace', path: 'active', value: false }, { op: 'Replace', value: { active: 'False' } }])('a patch that says it disables who is disabled already, for whoever else may enable them: %j', async (operation) => {
    const { id } = await somebody({ active: false })
    const before = (await users.get(id)).disabledAt!
    expect((await call('PATCH', `/Users/${id}`, patchOf(operation))).body).toMatchObject({ active: false })
    expect((await users.get(id)).disabledAt).toBeGreaterThan(before)
  }) // prettier-ignore

  test('an address is verified where directories are believed about that, and else not', async () => {
    const sent = { schemas: [USER], userName: 'believed', emails: [{ value: 'believed@example.com' }] }
    for (const [{ server: { oauth: there } }, send, isVerified] of [[server, call, undefined], [trusting, trusted, true]] as const) {
      const { body } = await send('POST', '/Users', sent)
      expect((await there.users.get(body.id)).claims['email_verified']).toBe(isVerified)
      const change = patchOf({ op: 'replace', path: 'emails[type eq "work"].value', value: 'new@example.com' })
      expect((await send('PATCH', `/Users/${body.id}`, change)).status).toBe(200)
      expect((await there.users.get(body.id)).claims['email_verified']).toBe(isVerified)
      await there.users.update('believed', { email_verified: true })
      await send('PATCH', `/Users/${body.id}`, patchOf({ op: 'replace', path: 'nickName', value: 'B' }))
      expect((await there.users.get(body.id)).claims['email_verified']).toBe(true)
      await send('PATCH', `/Users/${body.id}`, patchOf({ op: 'replace', path: 'emails', value: [{ value: 'newer@example.com' }] }))
      expect((await there.users.get(body.id)).claims['email_verified']).toBe(isVerified ?? false)
      await send('PATCH', `/Users/${body.id}`, patchOf({ op: 'remove', path: 'emails' }))
      expect((await there.users.get(body.id)).claims).toEqual({ nickname: 'B' })
    }
  }) // prettier-ignore

  test('an address that a directory says nothing of is what somebody says of themselves', async () => {
    const { users: there } = trusting.server.oauth
    const { id } = await there.create({ username: 'own', email: 'own@example.com' })
    const isVerified = async () => (await there.get(id)).claims['email_verified']
    const patch = async (...operations: readonly object[]) =>
      (await trusted('PATCH', `/Users/${id}`, patchOf(...operations))).status
    expect(await patch({ op: 'replace', value: { displayName: 'Own', externalId: 'own' } })).toBe(200)
    expect(await isVerified()).toBeUndefined()
    const told = { op: 'replace', path: 'emails[type eq "work"].value', value: 'own@example.com' }
    expect(await patch(told)).toBe(200)
    expect(await isVerified()).toBe(true)
  })

  test.each<[object, number, string | undefined, string]>([
    [{}, 400, 'invalidValue', 'userName is missing'],
    [{ userName: 7 }, 400, 'invalidValue', 'userName must be a text'],
    [{ userName: ' ' }, 400, 'invalidValue', 'userName must not be empty'],
    [{ userName: 'eve', active: 'maybe' }, 400, 'invalidValue', 'active must be true or false'],
    [{ userName: 'eve', password: 'password' }, 400, 'invalidValue', 'password'],
    [{ userName: 'eve', emails: [{ value: 'nowhere' }] }, 400, 'invalidValue', 'emails must be an email address'],
    [{ userName: 'eve', emails: 7 }, 400, 'invalidValue', 'emails must be an object'],
    [{ userName: 'eve', name: 'Eve' }, 400, 'invalidValue', 'name'],
    [{ userName: 'eve', roles: [{ value: 'two words' }] }, 400, 'invalidValue', 'roles must be a list of names without spaces or commas'],
    [{ userName: 'eve', roles: [{ value: 'admin' }] }, 403, undefined, 'nobody is made an administrator by SCIM'],
    [{ userName: 'eve', displayName: 'x'.repeat(300) }, 400, 'invalidValue', 'displayName must not'],
    [{ userName: 'eve', name: { familyName: 'x'.repeat(300) } }, 400, 'invalidValue', 'name.familyName must not'],
    [{ userName: 'eve', photos: [{ value: 'x'.repeat(3000) }] }, 400, 'invalidValue', 'photos must not'],
    [{ userName: 'eve', addresses: [{ locality: 'x'.repeat(3000) }] }, 400, 'invalidValue', 'addresses'],
    [{ userName: 'eve', schemas: ['urn:other'] }, 400, 'invalidSyntax', `schemas must name ${USER}`],
    [{ userName: 'ALICE' }, 409, 'uniqueness', 'userName is already taken'],
    [{ userName: 'eve', externalId: 'ext-1' }, 409, 'uniqueness', 'externalId is that of another user'],
  ])('%j is refused, and nobody is registered', async (members, status, scimType, detail) => {
    const answer = await call('POST', '/Users', { schemas: [USER], ...members })
    expect([answer.status, answer.body]).toEqual([
      status,
      {
        schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
        status: String(status),
        ...(scimType === undefined ? {} : { scimType }),
        detail: expect.stringContaining(detail),
      },
    ])
    expect(answer.headers.get('content-type')).toBe('application/scim+json')
    expect(await users.find('eve')).toBeNull()
  }) // prettier-ignore

  test('a directory that is believed takes nobody’s user name by an address', async () => {
    const { users: there } = trusting.server.oauth
    const { id } = await there.create({ username: 'owner@example.com' })
    const emails = [{ value: 'Owner@example.com' }]
    const { body } = await trusted('POST', '/Users', { schemas: [USER], userName: 'taker', emails })
    const change = patchOf({ op: 'replace', path: 'emails', value: [{ value: 'owner@EXAMPLE.com' }] })
    expect((await trusted('PATCH', `/Users/${body.id}`, change)).status).toBe(200)
    expect((await there.get(body.id)).claims['email_verified']).toBeUndefined()
    const own = { schemas: [USER], userName: 'owner@example.com', emails }
    expect((await trusted('PUT', `/Users/${id}`, own)).status).toBe(200)
    expect((await there.get(id)).claims['email_verified']).toBe(true)
  })

  test('an address that is somebody else’s, verified, is a conflict', async () => {
    const emails = [{ value: 'Alice@example.com' }]
    const { status, body } = await trusted('POST', '/Users', { schemas: [USER], userName: 'eve', emails })
    expect([status, body.scimType]).toEqual([409, 'uniqueness'])
    expect(await trusting.server.oauth.users.find('eve')).toBeNull()
  })

  test('of two at once with one name, or one identifier, one is', async () => {
    for (const members of [[{ userName: 'twin' }, { userName: 'TWIN' }], [{ userName: 'a1', externalId: 't' }, { userName: 'a2', externalId: 't' }]]) {
      const all = await Promise.all(members.map(async (one) => call('POST', '/Users', { schemas: [USER], ...one })))
      expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409])
    }
  }) // prettier-ignore
})

describe('by what they are known elsewhere', () => {
  test('each directory has identifiers of its own', async () => {
    const { id } = await somebody({ externalId: 'shared' })
    expect((await other('GET', `/Users/${id}`)).body).not.toHaveProperty('externalId')
    const set = patchOf({ op: 'add', path: 'externalId', value: 'shared' })
    expect((await other('PATCH', `/Users/${id}`, set)).body.externalId).toBe('shared')
    expect((await call('PATCH', `/Users/${id}`, patchOf({ op: 'remove', path: 'externalId' }))).body).not.toHaveProperty('externalId')
    expect((await other('GET', `/Users/${id}`)).body.externalId).toBe('shared')
    const found = async (send: typeof call) => (await send('GET', `/Users?filter=${encodeURIComponent('externalId eq "shared"')}`)).body.totalResults
    expect([await found(call), await found(other)]).toEqual([0, 1])
    // Free again, for somebody else.
    await somebody({ externalId: 'shared' })
    expect((await call('PATCH', `/Users/${id}`, set)).body.scimType).toBe('uniqueness')
  }) // prettier-ignore

  test('a change that is refused leaves the identifier as it was', async () => {
    const { id } = await somebody({ externalId: 'kept' })
    const change = patchOf(
      { op: 'replace', path: 'externalId', value: 'lost' },
      { op: 'replace', path: 'password', value: 'password' },
    )
    expect((await call('PATCH', `/Users/${id}`, change)).status).toBe(400)
    expect((await call('GET', `/Users/${id}`)).body.externalId).toBe('kept')
  })
})

describe('replaced', () => {
  test('what is left out is gone, but for what they sign in with and what they may do', async () => {
    const { id, userName } = await somebody({ ...WHOLE, userName: 'replaced', externalId: 'r1', password: 'a password of theirs' })
    await users.update(userName, { website: 'https://own.example/' })
    const { status, body } = await call('PUT', `/Users/${id}`, { schemas: [USER], userName, displayName: 'New Name' })
    expect(status).toBe(200)
    expect(body).toEqual({
      schemas: [USER],
      id,
      userName,
      displayName: 'New Name',
      active: true,
      roles: [{ value: 'staff' }],
      meta: expect.any(Object),
    })
    expect((await users.get(id)).claims).toEqual({ name: 'New Name', website: 'https://own.example/' })
    expect(await users.canSignInByPassword(userName)).toBe(true)
    const { roles: _roles, ...rest } = WHOLE
    const whole = await call('PUT', `/Users/${id}`, { schemas: [USER], ...WHOLE, userName, externalId: 'r1', roles: [], active: false })
    expect(whole.body).toMatchObject({ ...rest, userName, externalId: 'r1', active: false })
    expect(whole.body).not.toHaveProperty('roles')
  }) // prettier-ignore

  test('whoever is read and sent back stays as they are', async () => {
    const { id } = await somebody({ ...WHOLE, userName: 'same', externalId: 's1' })
    const had = (await call('GET', `/Users/${id}`)).body
    const { body } = await call('PUT', `/Users/${id}`, had)
    expect({ ...body, meta: {} }).toEqual({ ...had, meta: {} })
    expect((await oauth.audit.list({ type: 'user.changed', user: id })).events).toEqual([])
  })

  test('the whole name may come as the formatted one', async () => {
    const { id, userName } = await somebody()
    const send = async (members: object) =>
      (await call('PUT', `/Users/${id}`, { schemas: [USER], userName, ...members })).body.displayName
    expect(await send({ name: { formatted: 'Zoe Q' } })).toBe('Zoe Q')
    expect(await send({ name: { formatted: 'Zoe Q' }, displayName: 'Zoe' })).toBe('Zoe')
  })
})

describe('renamed', () => {
  test('by PUT and by PATCH; tokens go on, and the name is free', async () => {
    const { id } = await somebody({ userName: 'maiden@example.com', externalId: 'm1', password: 'a password of theirs' })
    const agent = await signedIn(server, { username: 'maiden@example.com', password: 'a password of theirs' })
    const patch = patchOf({ op: 'Replace', path: 'userName', value: 'married@example.com' })
    expect((await call('PATCH', `/Users/${id}`, patch)).body).toMatchObject({ userName: 'married@example.com', externalId: 'm1' })
    expect((await open(server, agent)).body).not.toContain('id="login"')
    expect((await call('PUT', `/Users/${id}`, { schemas: [USER], userName: 'Married@example.com' })).body.userName).toBe('Married@example.com')
    await signedIn(server, { username: 'married@example.com', password: 'a password of theirs' })
    await somebody({ userName: 'maiden@example.com' })
    const back = await call('PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { userName: 'MAIDEN@example.com', nickName: 'lost' } }))
    expect([back.status, back.body.scimType]).toEqual([409, 'uniqueness'])
    expect((await call('GET', `/Users/${id}`)).body).not.toHaveProperty('nickName')
    const [event] = (await oauth.audit.list({ type: 'user.changed', user: id })).events.toReversed()
    expect(event!.actor).toEqual({ kind: 'client', id: 'directory' })
  }) // prettier-ignore
})

test('a change leaves what SCIM has no words for', async () => {
  const claims = {
    website: 'https://own.example/',
    'name#de': 'Zoé',
    address: { locality: 'Oslo', building: '7' },
  }
  const { id } = await users.create({ username: 'more-than-scim', ...claims })
  await call('PATCH', `/Users/${id}`, patchOf({ op: 'add', path: 'nickName', value: 'M' }))
  expect((await users.get(id)).claims).toEqual({ ...claims, nickname: 'M' })
})

describe('ended', () => {
  test('who is made inactive has no session and no token any more', async () => {
    const tokens = await getTokens(server, { scope: 'openid read_books' })
    const alice = (await users.find('alice'))!
    const off = patchOf({ op: 'Replace', path: 'active', value: 'False' })
    expect((await call('PATCH', `/Users/${alice.id}`, off)).body.active).toBe(false)
    expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(401)
    expect((await refresh(server, tokens.refresh_token)).status).toBe(400)
    expect(await users.canSignInByPassword('alice')).toBe(true)
    await call('PUT', `/Users/${alice.id}`, { schemas: [USER], userName: 'alice', active: true })
    await getTokens(server)
  })

  test('who is deleted is gone, and so is what was known of them', async () => {
    const { id } = await somebody({ externalId: 'gone' })
    expect((await call('DELETE', `/Users/${id}`)).status).toBe(204)
    for (const method of ['GET', 'DELETE', 'PATCH'] as const) {
      const body = method === 'PATCH' ? patchOf({ op: 'remove', path: 'nickName' }) : undefined
      const { status, body: told } = await call(method, `/Users/${id}`, body)
      expect([status, told.detail]).toEqual([404, 'there is no user here'])
    }
    await somebody({ externalId: 'gone' })
  })

  test.each(['none', '00000000-0000-0000-0000-000000000000', '%27', '..%2f'])(
    'nobody is at %s',
    async (id) => {
      expect((await call('GET', `/Users/${id}`)).status).toBe(404)
    },
  )

  test('a password that comes so ends what was', async () => {
    const { id } = await somebody({ userName: 'changing', password: 'the first password' })
    const agent = await signedIn(server, { username: 'changing', password: 'the first password' })
    expect((await open(server, agent)).body).not.toContain('id="login"')
    const change = patchOf({ op: 'replace', path: 'password', value: 'the second password' })
    const { body } = await call('PATCH', `/Users/${id}`, change)
    expect(JSON.stringify(body)).not.toContain('password')
    expect((await open(server, agent)).body).toContain('id="login"')
    await signedIn(server, { username: 'changing', password: 'the second password' })
  })
})

describe('administrators', () => {
  test('are seen, and never changed', async () => {
    const root = (await users.find('root'))!
    expect((await call('GET', `/Users/${root.id}`)).body.roles).toEqual([{ value: 'admin' }])
    for (const [method, body] of [
      ['PUT', { schemas: [USER], userName: 'root', active: false }],
      ['PATCH', patchOf({ op: 'replace', path: 'password', value: 'a password of others' })],
      ['DELETE', undefined],
    ] as const) {
      const answer = await call(method, `/Users/${root.id}`, body)
      expect([answer.status, answer.body.detail]).toEqual([403, 'administrators are not changed by SCIM'])
    }
    const { id } = await somebody()
    for (const value of [{ value: 'admin' }, 'admin']) {
      const change = patchOf({ op: 'add', path: 'roles', value: [value] })
      expect((await call('PATCH', `/Users/${id}`, change)).status).toBe(403)
    }
    expect((await users.get(id)).roles).toEqual([])
  })

  test('who becomes one meanwhile is one', async () => {
    const { id, userName } = await somebody()
    for (const work of ['update', 'delete'] as const) {
      const { [work]: change, update } = users
      vi.spyOn(users, work).mockImplementationOnce((async (...given: unknown[]) => {
        await update(userName, { roles: ['admin'] })
        return (change as (...all: unknown[]) => unknown)(...given)
      }) as never)
      const [method, body] = work === 'update' ? (['PATCH', patchOf({ op: 'add', path: 'nickName', value: 'x' })] as const) : (['DELETE', undefined] as const)
      expect((await call(method, `/Users/${id}`, body)).status).toBe(403)
      expect((await users.get(id)).claims).toEqual({})
      await update(userName, { roles: [] })
    }
  }) // prettier-ignore
})

describe('versions', () => {
  test('a change of what is no longer so is refused', async () => {
    const { id, meta } = await somebody()
    const change = (value: string) => patchOf({ op: 'replace', path: 'nickName', value })
    const first = await call('PATCH', `/Users/${id}`, change('one'), { 'if-match': meta.version })
    expect(first.status).toBe(200)
    for (const [method, body] of [['PATCH', change('two')], ['PUT', { schemas: [USER], userName: 'x' }], ['DELETE', undefined]] as const)
      expect((await call(method, `/Users/${id}`, body, { 'if-match': meta.version })).status).toBe(412)
    const now = first.headers.get('etag')!
    expect((await call('GET', `/Users/${id}`, undefined, { 'if-none-match': now })).status).toBe(304)
    expect((await call('GET', `/Users/${id}`, undefined, { 'if-none-match': meta.version })).status).toBe(200)
    expect((await call('PATCH', `/Users/${id}`, change('three'), { 'if-match': `"other", ${now}` })).status).toBe(200)
    expect((await call('PATCH', `/Users/${id}`, change('four'), { 'if-match': '*' })).body.nickName).toBe('four')
  }) // prettier-ignore

  test('of two at once that saw the same, one changes it', async () => {
    const { id, meta } = await somebody()
    const all = await Promise.all(
      ['one', 'two'].map(async (value) =>
        call('PATCH', `/Users/${id}`, patchOf({ op: 'replace', path: 'nickName', value }), {
          'if-match': meta.version,
        }),
      ),
    )
    expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412])
  })

  test('changes at once that say nothing of each other are all made', async () => {
    const { id } = await somebody()
    const names = ['nickName', 'displayName', 'locale', 'timezone', 'profileUrl']
    await Promise.all(
      names.map(async (path) => call('PATCH', `/Users/${id}`, patchOf({ op: 'add', path, value: path }))),
    )
    expect((await call('GET', `/Users/${id}`)).body).toMatchObject(
      Object.fromEntries(names.map((name) => [name, name])),
    )
  })
})

test('a client that is gone, or has the scope no more, does nothing any more', async () => {
  const { id } = await somebody()
  await oauth.clients.update('other', { scope: ['read_books'] })
  await until(async () => expect((await other('GET', `/Users/${id}`)).status).toBe(403))
  await oauth.clients.delete('viewer')
  await until(async () => expect((await viewer('GET', `/Users/${id}`)).status).toBe(401))
})
