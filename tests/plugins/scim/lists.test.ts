/** Lists of users by SCIM (RFC 7644 §3.4.2, §3.9, RFC 9865): by filter, by index and by cursor, and as much of each as is wanted. */
import { describe, expect, test } from 'vitest'
import { MOST_EXAMINED } from '../../../plugins/scim/user-search.ts'
import { LIST, scimAs, startScim, USER } from '../../support/scim.ts'

const server = await startScim()
const { users } = server.server.oauth
const call = await scimAs(server, 'directory')
/** As they are listed: by user name. */
const NAMES = Array.from({ length: 25 }, (_, n) => `many-${String(n).padStart(2, '0')}`)

for (const [n, userName] of NAMES.entries())
  await call('POST', '/Users', {
    schemas: [USER],
    userName,
    externalId: `ext-${n}`,
    active: n % 5 !== 0,
    displayName: n < 3 ? 'The Same' : `Number ${n}`,
    emails: [{ value: `${userName}@example.com` }],
  })

const queryOf = (query: Record<string, string>) => new URLSearchParams(query).toString()
const list = async (query: Record<string, string> = {}) => call('GET', `/Users?${queryOf(query)}`)

interface Listed {
  readonly Resources: readonly { readonly userName: string }[]
}
const namesIn = ({ Resources }: Listed): readonly string[] => Resources.map(({ userName }) => userName)

describe('by filter', () => {
  test.each<[string, readonly string[]]>([
    ['userName eq "MANY-07"', ['many-07']],
    ['userName eq "nobody"', []],
    ['externalId eq "ext-7"', ['many-07']],
    ['externalId eq "ext-7" and active eq false', []],
    ['externalId eq "EXT-7"', []],
    ['emails.value eq "many-07@example.com"', ['many-07']],
    ['emails[type eq "work"].value eq "many-07@EXAMPLE.com"', ['many-07']],
    ['emails[type eq "work" and value eq "many-07@example.com"]', ['many-07']],
    ['displayName eq "the same"', ['many-00', 'many-01', 'many-02']],
    ['displayName sw "Number 1" and active eq false', ['many-10', 'many-15']],
    ['userName sw "many-0" and active eq false', ['many-00', 'many-05']],
    ['userName ew "-20"', ['many-20']],
    ['userName sw "many" and not (active eq true)', ['many-00', 'many-05', 'many-10', 'many-15', 'many-20']],
    ['externalId pr and displayName co "same"', ['many-00', 'many-01', 'many-02']],
    ['userName eq "many-01" or externalId eq "ext-2"', ['many-01', 'many-02']],
    ['meta.created gt "2100-01-01T00:00:00Z"', []],
  ])('%s', async (filter, names) => {
    const { status, body } = await list({ filter })
    expect([status, namesIn(body)]).toEqual([200, names])
    expect({ ...body, Resources: [] }).toEqual({
      schemas: [LIST],
      totalResults: names.length,
      startIndex: 1,
      itemsPerPage: names.length,
      Resources: [],
    })
    const posted = await call('POST', '/Users/.search', { filter })
    expect(posted.body).toEqual(body)
  })

  test('by the identifier', async () => {
    const { id } = (await users.find('many-03'))!
    expect(namesIn((await list({ filter: `id eq "${id}"` })).body)).toEqual(['many-03'])
    expect((await list({ filter: 'id eq "none"' })).body.totalResults).toBe(0)
  })

  test('one that is refused says why', async () => {
    const { status, body } = await list({ filter: 'usrName eq "x"' })
    expect([status, body.scimType, body.detail]).toEqual([400, 'invalidFilter', 'the filter names an attribute that is not known here'])
  }) // prettier-ignore
})

describe('by index', () => {
  test('each page, and how many there are', async () => {
    const total = await users.count()
    const seen: string[] = []
    for (let startIndex = 1; startIndex <= total; startIndex += 10) {
      const { body } = await list({ startIndex: String(startIndex), count: '10' })
      expect([body.totalResults, body.startIndex]).toEqual([total, startIndex])
      seen.push(...namesIn(body))
    }
    expect(seen).toEqual(seen.toSorted())
    expect(seen).toHaveLength(total)
    expect(seen).toEqual(expect.arrayContaining(NAMES))
  })

  test.each<[Record<string, string>, number, number]>([
    [{ count: '0' }, 1, 0],
    [{ count: '-3' }, 1, 0],
    [{ count: '2', startIndex: '0' }, 1, 2],
    [{ count: '2', startIndex: '-7' }, 1, 2],
    [{ count: '2', startIndex: '1000000' }, 1_000_000, 0],
    [{ count: '1000', filter: 'userName sw "many-"', startIndex: '24' }, 24, 2],
  ])('%j', async (query, startIndex, itemsPerPage) => {
    const { status, body } = await list(query)
    expect([status, body.startIndex, body.itemsPerPage, body.Resources.length]).toEqual([
      200,
      startIndex,
      itemsPerPage,
      itemsPerPage,
    ])
  })

  test.each([
    { count: 'many' },
    { count: '' },
    { startIndex: '1.5' },
    { startIndex: '1e3' },
    { count: '99999999999' },
  ])('%j is refused', async (query) => {
    const { status, body } = await list(query)
    expect([status, body.scimType]).toEqual([400, 'invalidValue'])
  })
})

describe('by cursor', () => {
  test.each<[string | undefined, number]>([
    [undefined, 0],
    ['active eq false and userName sw "many"', 5],
    ['userName ew "7"', 2],
    ['displayName eq "The Same"', 3],
    ['userName eq "many-04"', 1],
  ])('each that fits %s, once', async (filter, most) => {
    const seen: string[] = []
    let cursor: string | undefined = ''
    let pages = 0
    while (cursor !== undefined) {
      expect(cursor).toMatch(/^[\w-]*$/)
      const { status, body } = await list({ cursor, count: '4', ...(filter === undefined ? {} : { filter }) })
      expect([status, body.startIndex]).toEqual([200, undefined])
      seen.push(...namesIn(body))
      cursor = body.nextCursor
      expect(++pages).toBeLessThan(20)
    }
    expect(seen).toHaveLength(new Set(seen).size)
    expect(seen).toHaveLength(most === 0 ? await users.count() : most)
  })

  test.each([
    'x',
    'bm90aGluZw',
    Buffer.from('{"after":7}').toString('base64url'),
    Buffer.from('{"after":["\\u0000"]}').toString('base64url'),
  ])('%s is none', async (cursor) => {
    const { status, body } = await list({ cursor })
    expect([status, body.scimType]).toEqual([400, 'invalidCursor'])
  })
})

describe('as much as is wanted', () => {
  const zoe = 'many-07'
  test.each<[Record<string, string>, readonly string[]]>([
    [{ attributes: 'userName' }, ['schemas', 'id', 'userName']],
    [{ attributes: 'USERNAME, emails.value' }, ['schemas', 'id', 'userName', 'emails']],
    [{ attributes: 'shoeSize' }, ['schemas', 'id']],
    [{ attributes: `${USER}:active` }, ['schemas', 'id', 'active']],
    [{ attributes: 'password' }, ['schemas', 'id']],
    [
      { excludedAttributes: 'id,schemas,emails,meta' },
      ['schemas', 'id', 'externalId', 'userName', 'displayName', 'active'],
    ],
  ])('%j', async (query, names) => {
    const { id } = (await users.find(zoe))!
    const one = (await call('GET', `/Users/${id}?${queryOf(query)}`)).body as object
    expect(Object.keys(one)).toEqual(names)
    const { body } = await list({ filter: `id eq "${id}"`, ...query })
    expect(body.Resources).toEqual([one])
  })

  test('parts of complex ones, also where something is changed', async () => {
    const { id } = (await users.find(zoe))!
    const { body } = await call('GET', `/Users/${id}?attributes=emails.value,meta.location`)
    expect(body).toEqual({
      schemas: [USER],
      id,
      emails: [{ value: 'many-07@example.com' }],
      meta: { location: `${server.url}/scim/v2/Users/${id}` },
    })
    const without = (await call('GET', `/Users/${id}?excludedAttributes=emails.type,meta.version`)).body
    expect([without.emails, Object.keys(without.meta)]).toEqual([
      [{ value: 'many-07@example.com', primary: true }],
      ['resourceType', 'created', 'lastModified', 'location'],
    ])
    const put = await call('PUT', `/Users/${id}?attributes=active`, { schemas: [USER], userName: zoe })
    expect(Object.keys(put.body)).toEqual(['schemas', 'id', 'active'])
  })

  test('both at once are refused', async () => {
    const { status, body } = await list({ attributes: 'id', excludedAttributes: 'meta' })
    expect([status, body.scimType]).toEqual([400, 'invalidSyntax'])
  })

  test('a search may have lists, and says what it is', async () => {
    const Search = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest'
    const asked = { schemas: [Search], filter: 'userName eq "many-08"', attributes: ['userName'], count: 5, startIndex: 1 }
    for (const path of ['/Users/.search', '/.search']) {
      const { body } = await call('POST', path, asked)
      expect(body.Resources).toEqual([{ schemas: [USER], id: expect.any(String), userName: 'many-08' }])
    }
    expect((await call('POST', '/Users/.search', { schemas: [USER] })).body.scimType).toBe('invalidSyntax')
    expect((await call('POST', '/Users/.search', { filter: {} })).body.scimType).toBe('invalidValue')
  }) // prettier-ignore
})

test('where there are very many, a filter that names nobody is refused by index, and goes on by cursor', async () => {
  await server.database.query(
    `insert into users (id, username, username_key, claims, roles)
      select gen_random_uuid(), 'x' || n, 'x' || n, '{}', '{}' from generate_series(1, $1) n`,
    [MOST_EXAMINED],
  )
  const filter = 'nickName eq "none"'
  const { status, body } = await list({ filter })
  expect([status, body.scimType]).toEqual([400, 'tooMany'])
  const { body: first } = await list({ filter, cursor: '', count: '200' })
  expect([first.Resources, typeof first.nextCursor]).toEqual([[], 'string'])
  const { body: last } = await list({ filter, cursor: first.nextCursor, count: '200' })
  expect([last.Resources, last.nextCursor]).toEqual([[], undefined])
  expect((await list({ filter: 'userName eq "x7"' })).body.totalResults).toBe(1)
  expect((await list({ startIndex: String(MOST_EXAMINED), count: '3' })).body.itemsPerPage).toBe(3)
})
