/**
 * The authorization endpoint (RFC 6749 §3.1, OpenID Connect Core §3.1.2): GET and POST. A request goes down one
 * ladder: whom to answer, what is asked, who approves. Before the first rung holds, errors are a page and never a
 * redirect (RFC 9700 §4.11.1); after it they go to the client.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import type { AnsweredRequest, AuthorizationRequest } from '../../src/doors/approval.ts'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { Type } from '../../src/protocol/schema.ts'
import { OPENID_SCOPES, parseScope } from '../../src/protocol/scope.ts'
import { parseFormLeniently, type Wire } from '../../src/protocol/wire.ts'
import { refuseOtherMethods, withSlash } from '../../src/http/methods.ts'
import type { FoundRequest } from '../../src/services/tokens/request-finder.ts'
import { acceptForms, formText, queryText } from '../../src/http/forms.ts'
import { logFailure, toOAuthError } from '../../src/http/errors.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { sendErrorPage } from '../pages/error-page.ts'
import { createAnswers } from './answer.ts'
import { endpointChecks } from './checks.ts'
import { findRecipient } from './recipient.ts'

const NONE: ReadonlySet<string> = new Set()
/** Scopes of a request of which the log tells. */
const MOST_TOLD = 10

async function authorize(fastify: FastifyInstance): Promise<void> {
  const { oauth, browser, interactions } = fastify
  const { database, directory, doors, authorizationRequests: requests, spendArtifact } = kernelOf(fastify)
  const { basePath, production } = oauth.config
  const answers = createAnswers(fastify)

  // Kept for refresh: what was asked for and dropped here is dropped there again.
  oauth.add('parameter', { name: 'scope', schema: Type.String(), kept: true })
  for (const check of endpointChecks(oauth)) oauth.add('authorizationCheck', check)
  oauth.register('outcome', 'authorization_response', {
    async check({ client: { clientId }, redirectUri = '' }) {
      const sent = { wire: { client_id: clientId, redirect_uri: redirectUri }, repeated: NONE }
      requests.addressOf(await findRecipient(oauth, sent), sent)
    },
    async approved({ request }, approved, call) {
      const asked = request as AuthorizationRequest
      const { client, spends } = asked
      const granted = spends === undefined ? approved : { ...approved, spends }
      const responseType = oauth.owners('responseType').get(asked.responseType)
      let answer: Wire
      try {
        await requests.review(asked)
        answer = await responseType!.respond(granted, asked, { ...call, client })
      } catch (error) {
        // The session or the consent behind it has ended meanwhile: the client may ask again.
        return refuse(error, asked, call.reply)
      }
      return answers.send(call.reply, { request: asked, granted }, answer)
    },
    async denied({ request }, error, { reply }) {
      const asked = request as AuthorizationRequest
      for (const one of asked.spends ?? []) await spendArtifact(database.query, one)
      return answers.sendError(reply, asked, error)
    },
  })

  async function refuse(
    error: unknown,
    asked: AnsweredRequest,
    reply: FastifyReply,
    prompt?: unknown,
  ): Promise<FastifyReply> {
    if (!(error instanceof OAuthError) || error.status >= 500) return tellFailure(error, asked, reply, prompt)
    return answers.sendError(reply, asked, error)
  }

  /**
   * What failed here, and not at the client, is for the person in front of the browser to know. Where no page may be shown, the app is
   * told, since no status goes by a redirect (RFC 6749 §4.1.2.1).
   */
  async function tellFailure(
    error: unknown,
    asked: AnsweredRequest,
    reply: FastifyReply,
    prompt: unknown,
  ): Promise<FastifyReply> {
    const known = toOAuthError(error, reply.request)
    if (prompt !== 'none' || known.status < 500) throw error
    logFailure(known, reply.request)
    return answers.sendError(reply, asked, known)
  }

  /**
   * RFC 9700 §4.11.2: nobody is led where an app says that has registered itself before they have signed in here. Where no page may be
   * shown, the app is told.
   */
  async function refuseEarly(
    error: unknown,
    asked: AnsweredRequest,
    prompt: unknown,
    { request, reply }: BrowserCall,
  ): Promise<FastifyReply> {
    const isTrusted = asked.client.registrar === undefined || prompt === 'none'
    if (!isTrusted && (await browser.session(request)) === null) throw error
    return refuse(error, asked, reply, prompt)
  }

  /**
   * A request goes on without what its client may not have: who develops the app reads why, by names that are registered here. Other words are a
   * stranger's, and stand in no log; and as anybody can ask, production says nothing.
   */
  async function tellLeftOut(
    { client, scopes }: AuthorizationRequest,
    { wire }: FoundRequest,
    { log }: FastifyReply,
  ): Promise<void> {
    if (production || typeof wire['scope'] !== 'string') return
    const missing = [...parseScope(wire['scope'])].filter((name) => !scopes.has(name))
    if (missing.length === 0) return
    const found = await Promise.all(
      missing.slice(0, MOST_TOLD).map(async (name) => directory.findScope(name)),
    )
    const known = missing.filter((_, at) => found[at]?.registered)
    log.info(
      { client_id: client.clientId, scopes: known, others: missing.length - known.length },
      'left out of the request: scopes that the client is not registered for, and others that nobody has registered',
    )
  }

  async function respond(text: string, call: BrowserCall): Promise<FastifyReply> {
    const sent = parseFormLeniently(text)
    fastify.language.ask(call.request, sent.wire['ui_locales'])
    const client = await findRecipient(oauth, sent)
    let found: FoundRequest
    try {
      found = await requests.find(client, sent)
    } catch (error) {
      // Of a request that is elsewhere, what was sent need not say where its answer goes.
      if (sent.wire['redirect_uri'] === undefined) throw error
      return refuseEarly(error, requests.addressOf(client, sent), sent.wire['prompt'], call)
    }
    fastify.language.ask(call.request, found.wire['ui_locales'])
    const address = requests.addressOf(client, found)
    let request: AuthorizationRequest
    try {
      request = await requests.read(found, address)
      await tellLeftOut(request, found, call.reply)
    } catch (error) {
      return refuseEarly(error, address, found.wire['prompt'], call)
    }
    try {
      return await interactions.start(request, 'authorization_response', {}, call)
    } catch (error) {
      return tellFailure(error, address, call.reply, found.wire['prompt'])
    }
  }

  await fastify.register(
    async (scope) => {
      await acceptForms(scope)
      scope.setErrorHandler(sendErrorPage)
      for (const url of withSlash(scope, '/authorize')) {
        scope.get(url, async (request, reply) => respond(queryText(request), { request, reply }))
        scope.post(url, async (request, reply) => {
          const text = formText(request)
          return browser.needsAnotherTry(request, text)
            ? reply.redirect(`${basePath}/authorize?${text}`, 303)
            : respond(text, { request, reply })
        })
        refuseOtherMethods(scope, url, ['PUT', 'PATCH', 'DELETE', 'OPTIONS'], 'GET, HEAD, POST')
      }
    },
    { prefix: basePath },
  )

  const isSupported = (parameter: 'request' | 'request_uri'): boolean =>
    [...oauth.owners('requestSource').values()].some(({ supports = [] }) => supports.includes(parameter))
  oauth.extend('metadata', async () => ({
    authorization_endpoint: `${oauth.issuer}/authorize`,
    response_types_supported: [...oauth.owners('responseType').keys()],
    response_modes_supported: [...oauth.owners('responseMode').keys()],
    // Which asks for a refresh token (OpenID Connect Core §11).
    scopes_supported: [...OPENID_SCOPES].filter(
      (scope) => scope !== 'offline_access' || doors.grants.has('refresh_token'),
    ),
    authorization_response_iss_parameter_supported: true,
    request_parameter_supported: isSupported('request'),
    request_uri_parameter_supported: isSupported('request_uri'),
    claims_parameter_supported: doors.all('parameter').some(({ name }) => name === 'claims'),
  }))
}

export default fp(authorize, {
  name: 'latchkey-authorize',
  dependencies: [
    'latchkey-oauth',
    'latchkey-browser',
    'latchkey-language',
    'latchkey-interaction',
    'latchkey-response-modes',
  ],
})
