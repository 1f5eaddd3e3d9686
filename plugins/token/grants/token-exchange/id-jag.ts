/**
 * What an app shows at the authorization server of another one, to act there for the user who is signed in here: an ID-JAG
 * (draft-ietf-oauth-identity-assertion-authz-grant §4.3). For which of them is registered, as rules with `audiences`; nobody is vouched for by default.
 */
import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { answer, type Answer } from '../../../../src/doors/answer.ts'
import type { Call } from '../../../../src/doors/back-channel.ts'
import type { Client } from '../../../../src/doors/client.ts'
import { refusedDetails } from '../../../../src/protocol/authorization-details.ts'
import type { Bag } from '../../../../src/protocol/bag.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import type { ExchangeRule } from '../../../../src/protocol/exchange-rules.ts'
import { ID_JAG, ID_JAG_TYPE } from '../../../../src/protocol/id-jag.ts'
import { formatScope, parseScope } from '../../../../src/protocol/scope.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { assertBound } from '../../../../src/services/tokens/demanded-bindings.ts'
import { isInUse } from '../../../../src/services/users/user.ts'
import { assertHeld } from './holder.ts'
import { rulesOf } from './policy.ts'
import { isFrom, NOT_GOOD, refused, type Source, TYPE } from './source.ts'
import type { ReadSubjectToken } from './subject-tokens.ts'
import { isPublic } from './vouching-rules.ts'

/** Seconds: it is shown at once. */
const LIFETIME = 300
/** What says who is signed in (§4.3.1): an access token says only what may be done. */
const SUBJECT_TYPES: ReadonlySet<string> = new Set([`${TYPE}id_token`, `${TYPE}refresh_token`])

export interface VouchRequest {
  subject_token: string
  subject_token_type: string
  actor_token?: string | undefined
  scope?: string | undefined
  resource: readonly string[]
  audience: readonly string[]
}

/** Throws as an exchange does. */
export type Vouch = (request: VouchRequest, call: Call) => Promise<Answer>

export function createVouch(fastify: FastifyInstance, read: ReadSubjectToken): Vouch {
  const { oauth } = fastify
  const { doors, parents, tokenIssuer } = kernelOf(fastify)
  const constraints = () => doors.all('senderConstraint')

  async function sourceOf(sent: VouchRequest, call: Call): Promise<Source> {
    if (!SUBJECT_TYPES.has(sent.subject_token_type))
      throw new OAuthError('invalid_request', 'an ID-JAG is given for an ID token or a refresh token')
    if (sent.actor_token !== undefined) throw refused('an ID-JAG names nobody who acts')
    const source = await read(sent.subject_token_type, sent.subject_token, call)
    // §4.3: its `aud` is the client that asks, whatever a rule names.
    if (source.clientId !== call.client.clientId) throw refused(NOT_GOOD)
    assertHeld(source, call.binding)
    if (source.standsFor.subject === undefined) throw refused(NOT_GOOD)
    // Nothing is issued here that asks for it, as an exchange does.
    if (!(await parents.stand(source.parent))) throw refused(NOT_GOOD)
    return source
  }

  /** What the other server may know them by, where the app may know it itself. */
  async function emailOf({ standsFor: { subject = '' }, scopes }: Source): Promise<Bag> {
    const user = scopes.has('email') ? await oauth.findUser(subject) : null
    const { email, email_verified: isVerified } = user?.claims ?? {}
    return typeof email === 'string' && isVerified === true ? { email, email_verified: true } : {}
  }

  /** As the ID tokens that the other server gets name them: a pairwise `sub` of the app is nobody there. */
  async function subjectThere(
    { audience_client: audienceClient }: ExchangeRule,
    userId: string,
    client: Client,
  ) {
    if (audienceClient === undefined) {
      if (!isPublic(client.metadata))
        throw new OAuthError(
          'invalid_target',
          'the rule of this audience names no audience_client, and the sub that the client knows says nothing there',
        )
      return oauth.subjectOf(userId, client)
    }
    const there = await oauth.findClient(audienceClient)
    if (there === null)
      throw new OAuthError('invalid_target', 'the client that this audience is here is not registered')
    return oauth.subjectOf(userId, there)
  }

  async function vouch(sent: VouchRequest, call: Call): Promise<Answer> {
    const { client } = call
    // RFC 9449 §5.2: a client that must show a key does so with each request.
    assertBound(call, client, { bound: new Set() }, constraints)
    const [audience, ...others] = sent.audience
    if (audience === undefined || others.length > 0)
      throw new OAuthError('invalid_request', 'an ID-JAG is for one audience, the issuer of the other server')
    // The app would take it for more than it is.
    if (call.wire['authorization_details'] !== undefined) throw refusedDetails('an ID-JAG says none')
    const source = await sourceOf(sent, call)
    const user = await oauth.findUser(source.standsFor.subject ?? '')
    if (user === null || !isInUse(user)) throw refused(NOT_GOOD)
    const rule = ruleFor(client, source, audience, sent)
    const scope = scopeOf(rule, sent)
    const sub = await subjectThere(rule, user.id, client)
    const { authentication, standsFor, parent } = source
    await tokenIssuer.assertAllowed(
      {
        ...standsFor,
        scopes: scope === undefined ? new Set() : parseScope(scope),
        resources: sent.resource,
        ...(authentication === undefined ? {} : { authentication }),
        parent,
      },
      call,
    )
    const now = Math.floor(Date.now() / 1000)
    const exp = Math.min(now + LIFETIME, Math.floor(source.notAfter / 1000))
    if (exp <= now) throw refused(NOT_GOOD)
    const claims = {
      jti: randomUUID(),
      sub,
      aud: audience,
      client_id: rule.client_id ?? client.clientId,
      iat: now,
      exp,
      ...(sent.resource.length === 0
        ? {}
        : { resource: sent.resource.length === 1 ? sent.resource[0] : sent.resource }),
      ...(scope === undefined ? {} : { scope }),
      ...(await emailOf(source)),
      ...(authentication === undefined
        ? {}
        : {
            auth_time: Math.floor(authentication.time / 1000),
            amr: authentication.amr,
            ...(authentication.acr === undefined ? {} : { acr: authentication.acr }),
          }),
    }
    const token = await oauth.signStatement(claims, { typ: ID_JAG_TYPE, algorithm: 'ES256' })
    oauth.audit.observe({
      type: 'token.vouched',
      client: client.clientId,
      user: user.id,
      details: { audience, jti: claims.jti },
    })
    return answer({
      body: {
        issued_token_type: ID_JAG,
        access_token: token,
        token_type: 'N_A',
        expires_in: exp - now,
        ...(scope === undefined ? {} : { scope }),
      },
    })
  }

  return vouch
}

function ruleFor(client: Client, source: Source, audience: string, { resource }: VouchRequest): ExchangeRule {
  const ofClient = rulesOf(client).filter(
    ({ audiences, subject_clients: subjects }) => audiences !== undefined && isFrom(source, subjects),
  )
  if (ofClient.length === 0) throw refused(NOT_GOOD)
  const found = ofClient.find(
    ({ audiences = [], resources }) =>
      audiences.includes(audience) && resource.every((one) => resources.includes(one)),
  )
  if (found === undefined)
    throw new OAuthError(
      'invalid_target',
      'the client may not be vouched for at this audience, for this resource',
    )
  return found
}

/** Undefined where neither says any: then it is for the other server to say. */
function scopeOf({ scopes }: ExchangeRule, { scope }: VouchRequest): string | undefined {
  if (scope === undefined) return scopes === undefined ? undefined : scopes.join(' ')
  const asked = parseScope(scope)
  if (scopes !== undefined && ![...asked].every((one) => scopes.includes(one)))
    throw new OAuthError('invalid_scope', 'the client may not have these scopes at this audience')
  return formatScope(asked)
}
