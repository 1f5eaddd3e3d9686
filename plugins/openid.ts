/**
 * OpenID Connect Core as a layer over OAuth, through the same doors as everybody: the parameters of its
 * authentication request (§3.1.2.1) and the ID token in the token response (§3.1.3.3).
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { ConsentLine } from '../src/doors/approval.ts'
import type { Client } from '../src/doors/client.ts'
import { isUserClaim, scopeOfClaim } from '../src/protocol/claims.ts'
import {
  APPROVED_CLAIMS,
  parseClaimsRequest,
  requestedNames,
  withoutClaims,
  type ClaimsRequest,
} from '../src/protocol/claims-request.ts'
import { ENCRYPTED_HINT, isEncrypted } from '../src/protocol/encryption.ts'
import { OAuthError } from '../src/protocol/errors.ts'
import { Type } from '../src/protocol/schema.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import { wordsOfClaim } from './pages/words.ts'

async function openid(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config } = kernelOf(fastify)
  const rolesClaims = () => (fastify.hasPlugin('latchkey-roles') ? config.OIDC_ROLES_CLAIM : [])
  addParameters(fastify)
  oauth.extendClientMetadata(Type.Partial(Type.Object({ id_token_include_claims: Type.Boolean() })))

  oauth.extend('tokenResponse', ['id_token'], async (authorization, { access_token: accessToken }, call) => {
    if (authorization.subject === undefined || !authorization.scopes.has('openid')) return {}
    return {
      id_token: await oauth.idTokens.issue(authorization, call, { accessToken: accessToken as string }),
    }
  })

  oauth.extend('metadata', async () => ({
    id_token_signing_alg_values_supported: oauth.keys.algorithms,
    claim_types_supported: ['normal'],
    claims_supported: [...CLAIMS_SUPPORTED, ...rolesClaims()],
    prompt_values_supported: [...PROMPTS, ...promptsOfMethods(fastify)],
    display_values_supported: ['page', 'popup'],
  }))
}

const PROMPTS = ['none', 'login', 'consent', 'select_account']
const CLAIMS_SUPPORTED = [
  'sub', 'iss', 'aud', 'iat', 'exp', 'auth_time', 'nonce', 'acr', 'amr', 'sid', 'at_hash',
  'name', 'given_name', 'family_name', 'middle_name', 'nickname', 'preferred_username', 'profile', 'picture',
  'website', 'gender', 'birthdate', 'zoneinfo', 'locale', 'updated_at', 'email', 'email_verified', 'address',
  'phone_number', 'phone_number_verified',
] // prettier-ignore

function addParameters(fastify: FastifyInstance): void {
  const { oauth } = fastify
  const { ownJwts } = kernelOf(fastify)
  const text = (maxLength: number) => Type.String({ maxLength })
  oauth.add('parameter', { name: 'nonce', schema: text(1024), kept: true })
  oauth.add('parameter', {
    name: 'prompt',
    schema: text(200),
    parse: (raw) => parsePrompt(raw, promptsOfMethods(fastify)),
  })
  oauth.add('parameter', { name: 'max_age', schema: text(20), parse: parseMaxAge })
  oauth.add('parameter', { name: 'login_hint', schema: text(256) })
  oauth.add('parameter', {
    name: 'id_token_hint',
    schema: text(16_384),
    async parse(raw, client) {
      if (raw === undefined) return undefined
      if (isEncrypted(raw as string)) throw new OAuthError('invalid_request', ENCRYPTED_HINT)
      const hint = await ownJwts.verifyIdToken(raw as string, { ignoreExpiry: true })
      if (hint === null || ![hint.aud].flat().includes(client.clientId))
        throw new OAuthError('invalid_request', 'id_token_hint is not an ID token that this client got here')
      return hint.sub
    },
  })
  oauth.add('parameter', {
    name: 'claims',
    schema: text(4096),
    kept: APPROVED_CLAIMS,
    parse: (raw) => (raw === undefined ? undefined : parseClaimsRequest(raw as string)),
    consent: (value) => linesOfClaims(value as ClaimsRequest),
    wordsOf: wordsOfClaim,
    decline: (value, names) => withoutClaims(value as ClaimsRequest, names),
  })
  // Registration §2: `default_acr_values` where none are sent.
  oauth.add('parameter', {
    name: 'acr_values',
    schema: text(1024),
    parse: (raw, { metadata }) => raw ?? (metadata['default_acr_values'] as string[] | undefined)?.join(' '),
  })
  for (const name of ['ui_locales', 'claims_locales', 'display'])
    oauth.add('parameter', { name, schema: text(1024) })
}

/** By which ways to sign in are opened, such as `create`. Once all are registered. */
function promptsOfMethods({ oauth }: FastifyInstance): string[] {
  return [...oauth.owners('signInMethod').values()].flatMap(({ prompt }) => prompt ?? [])
}

/**
 * Values that are not known are ignored, as §3.1.2.1 lets a server do for those to come; `create` is refused where it is not offered, as
 * Initiating User Registration 1.0 §4.1 asks for.
 */
function parsePrompt(raw: unknown, more: readonly string[]): readonly string[] | undefined {
  if (typeof raw !== 'string') return undefined
  const values = raw.split(' ').filter((one) => one !== '')
  if (values.includes('none') && values.length > 1)
    throw new OAuthError('invalid_request', 'prompt=none goes with no other value')
  if (values.includes('create') && !more.includes('create'))
    throw new OAuthError(
      'invalid_request',
      'prompt=create is not offered here: nobody makes an account themselves',
    )
  return values.filter((one) => PROMPTS.includes(one) || more.includes(one))
}

/** Seconds. Registration §2: `default_max_age` where none is sent. */
function parseMaxAge(raw: unknown, { metadata }: Client): number | undefined {
  if (raw === undefined) return metadata['default_max_age'] as number | undefined
  if (!/^\d{1,10}$/.test(raw as string))
    throw new OAuthError('invalid_request', 'max_age must be a number of seconds')
  return Number(raw)
}

/** One for each claim: whoever allowed its scope has allowed it. */
function linesOfClaims(request: ClaimsRequest): ConsentLine[] {
  return [...requestedNames(request)].filter(isUserClaim).map((name) => {
    const scope = scopeOfClaim(name)
    return { key: name, text: wordsOfClaim(name), scopes: scope === undefined ? [] : [scope] }
  })
}

export default fp(openid, { name: 'latchkey-openid', dependencies: ['latchkey-oauth', 'latchkey-authorize'] })
