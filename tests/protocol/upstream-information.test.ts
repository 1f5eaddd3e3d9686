/** What may be registered of an upstream by what it speaks: each member where it has a meaning, and nowhere else. */
import { describe, expect, test } from 'vitest'
import { OAuthError } from '../../src/protocol/errors.ts'
import { layUpstream, parseUpstream, upstreamInformation } from '../../src/protocol/upstream-information.ts'

const OWN = 'https://id.example.com'
const ISSUER = 'https://code.example'
const CLIENT = { id: 'one', client_id: 'us' }
const OPENID = { ...CLIENT, issuer: ISSUER }
const PLAIN = {
  ...OPENID,
  kind: 'oauth2',
  authorization_endpoint: `${ISSUER}/authorize`,
  token_endpoint: `${ISSUER}/token`,
  userinfo_endpoint: `${ISSUER}/me?fields=id,name`,
}

/** What is registered of it, or the member that is refused. */
function registered(said: object, had?: object): object | string {
  try {
    const before = had === undefined ? undefined : layUpstream(undefined, parseUpstream(had, OWN).members)
    return upstreamInformation(layUpstream(before, parseUpstream(said, OWN).members))
  } catch (error) {
    if (error instanceof OAuthError) return error.message
    throw error
  }
}

const GITHUB = { ...CLIENT, kind: 'github' }
const KNOWN = { ...GITHUB, issuer: 'https://github.com/login/oauth' }

test.each([
  ['OpenID Connect', OPENID, OPENID],
  ['OpenID Connect, said', { ...OPENID, kind: 'openid' }, { ...OPENID, kind: 'openid' }],
  ['GitHub, whose issuer is known', GITHUB, KNOWN],
  ['GitHub, as a page sends it', { ...GITHUB, issuer: null, name: null }, KNOWN],
  ['a GitHub of their own', { ...GITHUB, issuer: `${ISSUER}/login/oauth` }, { ...GITHUB, issuer: `${ISSUER}/login/oauth` }],
  ['OAuth 2.0 alone', PLAIN, PLAIN],
  ['OAuth 2.0 alone, with all it may say', { ...PLAIN, subject_claim: 'id', token_endpoint_auth_method: 'client_secret_post', scope: 'identify email' }, { ...PLAIN, subject_claim: 'id', token_endpoint_auth_method: 'client_secret_post', scope: ['identify', 'email'] }],
])('%s is registered', (_what, said, known) => {
  expect(registered(said)).toEqual(known)
}) // prettier-ignore

describe('what has no meaning is refused in a sentence', () => {
  test.each([
    [{ ...GITHUB, kind: 'saml' }, 'kind must be one of openid, oauth2, github, apple'],
    [{ id: 'one', kind: 'github' }, 'client_id is missing'],
    [{ ...GITHUB, name: '\u3164' }, 'name must not be empty'],
    [{ ...GITHUB, issuer: 'https://github.com' }, 'issuer must end with /login/oauth, as that of every GitHub'],
    [{ ...GITHUB, scope: 'openid' }, 'scope must be without openid: this kind of upstream has no ID tokens'],
    [{ ...GITHUB, sign_out: true }, 'sign_out needs an OpenID provider: this kind of upstream has no address for it'],
    [{ ...GITHUB, team_id: 'T' }, 'team_id is only registered of the kind apple'],
    [{ ...CLIENT, kind: 'apple', team_id: 'T', client_secret: 'k' }, 'key_id is missing'],
    [{ ...CLIENT, kind: 'apple', team_id: 'T', key_id: 'K' }, 'client_secret is missing'],
    [{ ...CLIENT, kind: 'apple', team_id: 'T', key_id: 'K', client_secret: 'k', sign_out: true }, 'sign_out needs an OpenID provider: this kind of upstream has no address for it'],
    [{ ...GITHUB, subject_claim: 'login' }, 'subject_claim is only registered of the kind oauth2'],
    [{ ...GITHUB, userinfo_endpoint: ISSUER }, 'userinfo_endpoint is only registered of the kind oauth2'],
    [{ ...CLIENT, kind: 'oauth2' }, 'issuer is missing'],
    [{ ...PLAIN, token_endpoint: null }, 'token_endpoint is missing: an upstream of the kind oauth2 has no metadata that says it'],
    [{ ...PLAIN, token_endpoint: '/token' }, 'token_endpoint must be an https address without a fragment'],
    [{ ...PLAIN, token_endpoint: `${ISSUER}/token#here` }, 'token_endpoint must be an https address without a fragment'],
    [{ ...PLAIN, token_endpoint: 'https://us:secret@code.example/token' }, 'token_endpoint must be an https address without a fragment'],
    [{ ...PLAIN, token_endpoint_auth_method: 'private_key_jwt' }, 'token_endpoint_auth_method must be one of client_secret_basic, client_secret_post'],
    [{ ...PLAIN, subject_claim: 'a claim' }, 'subject_claim must be the name of a claim, such as id'],
    [{ ...PLAIN, scope: '"' }, 'scope must be scope names'],
    [{ ...PLAIN, claims: 'sub=id' }, 'claims must begin with names of standard claims, such as email'],
    [{ ...OPENID, token_endpoint: `${ISSUER}/token` }, 'token_endpoint is only registered of the kind oauth2'],
    [{ ...OPENID, scope: 'email' }, 'scope must be scope names, openid among them'],
  ])('%j: %s', (said, sentence) => {
    expect(registered(said)).toBe(sentence)
  }) // prettier-ignore

  test('also where the kind changes, and what was registered stays', () => {
    expect(registered({ id: 'one', kind: 'github' }, PLAIN)).toBe(
      'authorization_endpoint is only registered of the kind oauth2',
    )
    expect(registered({ id: 'one', kind: 'oauth2' }, OPENID)).toMatch(/^authorization_endpoint is missing/)
    expect(registered({ id: 'one', kind: null }, { ...GITHUB, scope: 'user' })).toBe(
      'scope must be scope names, openid among them',
    )
  })
})
