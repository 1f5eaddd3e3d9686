/**
 * Dynamic client registration: `/register` (RFC 7591, OpenID Connect Dynamic Client Registration 1.0) and its management by the client
 * (RFC 7592). What a client may say of itself is the registry's to judge (docs/adr/0047). With `OIDC_REGISTRATION=off` nothing of it is here.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { answer } from '../../src/doors/answer.ts'
import type { OpenCall } from '../../src/doors/endpoint.ts'
import {
  REGISTRAR,
  type Registration,
  type SelfRegistrationAllowance,
} from '../../src/doors/self-registration.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { Type } from '../../src/protocol/schema.ts'
import { REGISTRATION_TOKENS } from '../../src/services/registration/keyed-hash.ts'
import { addAdminInitialTokens } from './admin-initial-tokens.ts'

const PATH = '/register'
/** Seconds in which a network may register one more, where no initial access token is shown. */
const RECOVERY = 60
/** Of one app, which has an event in the audit log for each, and of all in one network. */
const CHANGES = { failures: 60, recovery: 10 }
const OF_A_NETWORK = { failures: 600, recovery: 1 }
/** The caller says who it is by a token, and what it sends is metadata: neither is a parameter. */
const OPEN = { caller: 'anybody', body: 'json', cors: true, parameters: Type.Object({}) } as const

async function registration(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config, profiles, selfRegistration, initialTokens, registrationTokens, secret } = kernelOf(fastify)
  const { OIDC_REGISTRATION: mode, OIDC_REGISTRATION_MOST: most, OIDC_REGISTRATION_SCOPES: scopes } = config
  if (mode === 'off') return
  // Where no SECRET_KEY fits it, a start says so, and not an app's change.
  fastify.addHook('onReady', async () => void (await secret(REGISTRATION_TOKENS)))
  const clients = selfRegistration(REGISTRAR, { most, scopes })
  const ofNetwork = { failures: config.OIDC_REGISTRATION_AT_ONCE, recovery: RECOVERY }
  const strangers = oauth.throttle(REGISTRAR, { account: ofNetwork, network: ofNetwork })

  const changes = oauth.throttle('registration-change', {
    account: CHANGES,
    network: OF_A_NETWORK,
    everywhere: CHANGES,
  })

  /** With what the profiles of the server make of it, whenever it was given. */
  const ofNow = (allowance: SelfRegistrationAllowance) => ({
    ...allowance,
    growingScope: profiles.growsScopes(),
  })

  const told = (registered: Registration, token: string): Bag => ({
    ...registered,
    registration_client_uri: `${oauth.issuer}${PATH}/${registered.client_id}`,
    registration_access_token: token,
  })

  /** The initial access token that is shown; null for a stranger. Throws where it is needed, or is not good. */
  async function invitationOf(call: OpenCall) {
    const shown = bearerOf(call)
    const found = shown === undefined ? null : await initialTokens.find(shown)
    if (found !== null) return found
    // Each counts, also of those who succeed: before anything is stored.
    const attempt = await strangers.attempt(null, call.request.ip)
    await attempt.failed()
    if (shown !== undefined || mode === 'token') throw refused(call)
    return null
  }

  oauth.registerEndpoint({
    ...OPEN,
    path: PATH,
    metadata: 'registration_endpoint',
    async handle(_parameters, call) {
      const invitation = await invitationOf(call)
      const allowance = { scopes, ...invitation?.allowance }
      const token = registrationTokens.create()
      const registered = await clients.create(call.body, ofNow(allowance), async (em, clientId) => {
        if (invitation !== null && !(await initialTokens.spend(em, invitation))) throw refused(call)
        registrationTokens.store(em, clientId, token, allowance)
      })
      return answer({ status: 201, body: told(registered, token) })
    },
  })

  /** The same refusal where there is no such client, so that nobody learns that (RFC 7592 §2). */
  async function authenticate(call: OpenCall) {
    const { client_id: id = '' } = call.path
    const used = await registrationTokens.use(id, bearerOf(call) ?? '')
    if (used === null) throw refused(call)
    return { id, ...used }
  }

  if (fastify.hasDecorator('admin')) await addAdminInitialTokens(fastify, `${oauth.issuer}${PATH}`)
  const own = { ...OPEN, path: `${PATH}/:client_id` } as const
  oauth.registerEndpoint({
    ...own,
    method: 'GET',
    async handle(_parameters, call) {
      const { id, next, secretFor } = await authenticate(call)
      const registered = await clients.find(id, secretFor)
      if (registered === null) throw refused(call)
      return told(registered, next)
    },
  })
  oauth.registerEndpoint({
    ...own,
    method: 'PUT',
    async handle(_parameters, call) {
      const { id, next, allowance, secretFor } = await authenticate(call)
      const attempt = await changes.attempt(id, call.request.ip)
      await attempt.failed()
      return told(await clients.replace(id, replacementOf(call), ofNow(allowance), secretFor), next)
    },
  })
  oauth.registerEndpoint({
    ...own,
    method: 'DELETE',
    async handle(_parameters, call) {
      const { id } = await authenticate(call)
      await clients.delete(id)
      return answer({ status: 204 })
    },
  })
}

/** What the server makes must not be sent (RFC 7592 §2.2): whoever sends back what they read is forgiven that. */
function replacementOf({ body }: OpenCall): Bag {
  const {
    registration_access_token: _token,
    registration_client_uri: _uri,
    client_secret_expires_at: _end,
    client_id_issued_at: _begin,
    ...metadata
  } = body
  return metadata
}

function bearerOf({ request }: OpenCall): string | undefined {
  return /^Bearer +([\w.~+/-]+=*)$/i.exec(request.headers.authorization ?? '')?.[1]
}

/** RFC 6750 §3: without a token, the challenge names no error. */
function refused(call: OpenCall): OAuthError {
  const isBare = bearerOf(call) === undefined
  const description = isBare
    ? 'a token is needed: send it as Authorization: Bearer'
    : 'the token is not good for this'
  return new OAuthError('invalid_token', description, {
    headers: { 'www-authenticate': `Bearer realm="registration"${isBare ? '' : ', error="invalid_token"'}` },
  })
}

export default fp(registration, { name: 'latchkey-registration', dependencies: ['latchkey-oauth'] })
