/** What can be wrong with a request, as arbitraries: each is a change to a valid one, so that the rest of it gets past the door. */
import fc, { type Arbitrary } from 'fast-check'
import { copyOf, type Draft, type Pair } from './fuzz-request.ts'

/** Requests of which each would be taken, and values that mean something to the server somewhere. */
export interface Ground {
  skeletons: readonly Draft[]
  values: readonly string[]
}

type Change = (draft: Draft, ground: Ground) => void
type Text = (ground: Ground) => string

/** Stands in values that are sent; never as it is in a page. */
export const MARK = 'Zq7<b>"\''

const NAMES = [
  'client_id', 'client_secret', 'id', 'user', 'username', 'password', 'token', 'csrf_token', 'after', 'before', 'from', 'to', 'type', 'search',
  'format', 'handle', 'version', 'return_to', 'user_code', 'grant_type', 'scope', 'resource', 'code', 'state', 'nonce', 'prompt', 'max_age',
  'claims', 'response_mode', 'request', 'redirect_uri', 'redirect_uris', 'logo_uri', 'roles', 'name', 'confirm', 'newest', 'algorithm',
  'access_token', 'client_assertion', 'id_token_hint', '__proto__', 'constructor', 'toString', 'a[b]', 'a[]', '', '%00', '%ff',
] // prettier-ignore
const MEMBERS = ['client_uri', 'logo_uri', 'scope', 'grant_types', 'response_types', 'jwks', 'token_endpoint_auth_method', 'software_statement', 'subject_type', 'a', '__proto__'] // prettier-ignore
const SPECIAL = [
  MARK, '', ' ', '\0', '\r\nSet-Cookie: a=b', '\t', '"', '\\', "' or 1=1 --", '${7*7}', '<%= 1 %>', '../..', '\u202eabc', '\u200b', '\ufeff{}',
  '\ud83d\ude00', '\u0130', '\ufb01', 'e\u0301', 'null', 'undefined', 'true', '-0', '-1', '0', '1e400', '9007199254740993', '99999999999999999999', 'NaN',
  '0x10', '2026-02-31', '2026-11-21', '0000-00-00', '+275760-09-13', '9999-12-31', '[', '{}', '[]', '{"userinfo":{"__proto__":null}}', '{"a":"\\u0000"}',
  '{"a":"\\ud800"}', 'javascript:alert(1)', 'https://[::1', 'https://user:pass@a.example/#f', '//evil.example', '/\\evil.example', 'http://localhost:99999/',
  '00000000-0000-0000-0000-000000000000', 'eyJhbGciOiJub25lIn0.e30.', 'lka_', 'lkr_x', 'openid', 'none', 'login', 'admin', 'ndjson', 'csv',
] // prettier-ignore
const RAW = [
  '%',
  '%zz',
  '%u0041',
  '%ff',
  '%c0%af',
  '%ed%a0%80',
  '%00',
  'a%00b',
  '%f4%90%80%80',
  'a+b',
  'a=b',
  'a;b',
]
const TYPES = [
  'text/plain', 'application/json', 'application/json\t', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded; charset=utf-16',
  'application/x-www-form-urlencoded;charset="utf-8"', 'APPLICATION/X-WWW-FORM-URLENCODED', 'application/x-www-form-urlencoded, text/plain', ';', '', 'x',
] // prettier-ignore
const HEADERS = [
  'accept', 'origin', 'sec-fetch-site', 'sec-fetch-mode', 'authorization', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'forwarded',
  'user-agent', 'content-encoding', 'x-http-method-override', 'if-none-match', 'if-modified-since', 'range', 'accept-language', 'accept-encoding',
  'dpop', 'client-cert', 'referer', 'host', 'x-request-id', 'traceparent', 'access-control-request-method', 'te',
] // prettier-ignore
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'TRACE', 'QUERY']
const PATHS = [
  '/', '//', '/.', '/..', '/../..', '%2f', '%2F..%2f', '/%2e%2e/', '%00', '%ff', '%c0%af', '%', '%zz', ';a=b', '.json', '\xe9', '?', '#x', '/%20', '*',
  '/__proto__', '/constructor', '/:id', `/${'a'.repeat(600)}`, 'a'.repeat(9000), '%61'.repeat(300),
] // prettier-ignore
const SIZES = [257, 1025, 2049, 4097, 16_385, 70_000]

const at = <T>(all: readonly T[], index: number): T | undefined => all[index % Math.max(all.length, 1)]
const plain =
  (text: string): Text =>
  () =>
    text
const place = fc.nat(9999)

function flip(value: string, where: number, character: string): string {
  const index = where % Math.max(value.length, 1)
  return value.slice(0, index) + character + value.slice(index + 1)
}

/** Percent-encoded. */
const text: Arbitrary<Text> = fc.oneof(
  fc.constantFrom(...SPECIAL).map((one) => plain(encodeURIComponent(one))),
  fc.constantFrom(...RAW).map(plain),
  fc.string({ unit: 'binary', maxLength: 40 }).map((one) => plain(encodeURIComponent(one.toWellFormed()))),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => plain(Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''))),
  fc.json({ maxDepth: 3 }).map((one) => plain(encodeURIComponent(one))),
  fc.webUrl({ withFragments: true, withQueryParameters: true }).map((one) => plain(encodeURIComponent(one))),
  fc.constantFrom(...SIZES).map((size) => plain('a'.repeat(size))),
  // What belongs elsewhere, as it is and with a character changed.
  place.map((index): Text => ({ values }) => encodeURIComponent(at(values, index) ?? '')),
  fc.tuple(place, place, fc.constantFrom('A', 'z', '0', '_', '-', '.', '~')).map(([index, where, character]): Text => ({ values }) =>
    encodeURIComponent(flip(at(values, index) ?? '', where, character))),
) // prettier-ignore
const latin = fc.string({ maxLength: 60 }).map((one) => plain(one))
const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NAMES).map(plain) },
  { weight: 1, arbitrary: text },
)

/** A change to one pair of a list, or one more. */
const pairs = (list: 'query' | 'fields' | 'cookies'): Arbitrary<Change> => {
  const changed = (change: (pairs: Pair[], index: number, ground: Ground) => void, index: number): Change =>
    (draft, ground) => draft[list].length > 0 && change(draft[list], index % draft[list].length, ground)
  return fc.oneof(
    fc.tuple(place, text).map(([index, value]) =>
      changed((all, one, ground) => (all[one] = [all[one]![0], value(ground)]), index)),
    fc.tuple(place, place, fc.constantFrom('A', 'z', '0', '-', '%', '%00', '%ff', '')).map(([index, where, character]) =>
      changed((all, one) => (all[one] = [all[one]![0], flip(all[one]![1], where, character)]), index)),
    fc.tuple(place, name).map(([index, other]) =>
      changed((all, one, ground) => (all[one] = [other(ground), all[one]![1]]), index)),
    place.map((index) => changed((all, one) => all.splice(one, 1), index)),
    place.map((index) => changed((all, one) => all.push([...all[one]!]), index)),
    fc.tuple(name, text).map(([one, value]): Change => (draft, ground) => draft[list].push([one(ground), value(ground)])),
    fc.constantFrom(30, 250, 2000).map((count): Change => (draft) => {
      for (let index = 0; index < count; index++) draft[list].push([`p${index}`, 'x'])
    }),
  )
} // prettier-ignore

const ofHeaders: Arbitrary<Change> = fc.oneof(
  fc.tuple(fc.constantFrom(...HEADERS), fc.oneof(text, latin)).map(([header, value]): Change => (draft, ground) => {
    draft.headers[header] = value(ground)
  }),
  fc.tuple(place, place, fc.constantFrom('A', '~', ' ', ',', '\xff', ':')).map(([index, where, character]): Change => ({ headers }) => {
    const header = at(Object.keys(headers), index)
    if (header !== undefined) headers[header] = flip(headers[header]!, where, character)
  }),
  place.map((index): Change => ({ headers }) => {
    delete headers[at(Object.keys(headers), index) ?? '']
  }),
  fc.constantFrom(...TYPES).map((type): Change => (draft) => {
    draft.headers['content-type'] = type
  }),
  fc.constantFrom('text/html', 'application/json', 'image/*', '*/*;q=0', 'text/html;q=x').map((accept): Change => (draft) => {
    draft.headers['accept'] = accept
  }),
  fc.constantFrom('x', 'Basic', 'Basic !', 'Basic OjpA', 'Bearer', 'Bearer  ', 'Bearer a b', 'DPoP x', 'Negotiate').map((authorization): Change => (draft) => {
    draft.headers['authorization'] = authorization
  }),
) // prettier-ignore

const ofBody: Arbitrary<Change> = fc.oneof(
  fc.uint8Array({ maxLength: 100 }).map((bytes): Change => (draft) => {
    draft.body = Buffer.from(bytes)
  }),
  fc.json({ maxDepth: 5 }).map((json): Change => (draft) => {
    draft.body = Buffer.from(json)
    draft.headers['content-type'] = 'application/json'
  }),
  fc.constantFrom('['.repeat(5000), '{"a":'.repeat(1000), `a=${'x'.repeat(70_000)}`, '&'.repeat(1000), '=', '\xef\xbb\xbfa=b').map((body): Change => (draft) => {
    draft.body = Buffer.from(body, 'latin1')
  }),
) // prettier-ignore

/** Of what is sent as a JSON object, a member that is something else. */
const ofMembers: Arbitrary<Change> = fc
  .tuple(fc.constantFrom(...MEMBERS), fc.oneof(fc.constantFrom<unknown>(...SPECIAL), fc.jsonValue({ maxDepth: 3 })))
  .map(([member, value]): Change => (draft) => {
    if (draft.body === undefined || draft.headers['content-type'] !== 'application/json') return
    const whole = draft.body.toString()
    if (whole.endsWith('}')) draft.body = Buffer.from(`${whole.slice(0, -1)},${JSON.stringify(member)}:${JSON.stringify(value)}}`)
  }) // prettier-ignore

const change: Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: ofMembers },
  { weight: 6, arbitrary: pairs('fields') },
  { weight: 4, arbitrary: pairs('query') },
  { weight: 2, arbitrary: pairs('cookies') },
  { weight: 3, arbitrary: ofHeaders },
  { weight: 1, arbitrary: ofBody },
  { weight: 1, arbitrary: fc.constantFrom(...METHODS).map((method): Change => (draft) => void (draft.method = method)) },
  { weight: 1, arbitrary: fc.constantFrom(...PATHS).map((more): Change => (draft) => void (draft.path += more)) },
  { weight: 1, arbitrary: fc.tuple(place, fc.constantFrom('%', '/', '%2f', '.', '\xff', 'A')).map(([where, character]): Change =>
    (draft) => void (draft.path = flip(draft.path, where, character))) },
) // prettier-ignore

/** Any request: one of the skeletons, from one of a few networks, as it is or with a few things wrong. */
export const anyRequest: Arbitrary<(ground: Ground) => Draft> = fc
  .tuple(place, fc.nat(63), fc.array(change, { maxLength: 3 }))
  .map(([index, network, changes]) => {
    const make = (ground: Ground): Draft => {
      const made = copyOf(at(ground.skeletons, index)!)
      made.headers['x-forwarded-for'] ??= `198.51.100.${network}`
      for (const one of changes) one(made, ground)
      return made
    }
    // What it makes stands in the failure itself.
    return Object.assign(make, { [fc.toStringMethod]: () => `${changes.length} changes` })
  })
