/**
 * The authorization endpoint (RFC 6749 §3.1, OpenID Connect Core §3.1.2): GET and POST. A request goes down one
 * ladder: whom to answer, what is asked, who approves. Before the first rung holds, errors are a page and never a
 * redirect (RFC 9700 §4.11.1); after it they go to the client.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import type { AuthorizationRequest } from '../../src/doors/approval.ts'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { Type } from '../../src/protocol/schema.ts'
import { OPENID_SCOPES } from '../../src/protocol/scope.ts'
import { parseFormLeniently, type Wire } from '../../src/protocol/wire.ts'
import { refuseOtherMethods, withSlash } from '../../src/http/methods.ts'
import { acceptForms, formText, queryText } from '../../src/http/forms.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { sendErrorPage } from '../pages/error-page.ts'
import { createAnswers } from './answer.ts'
import { assertServed, createRequestParser } from './request.ts'
import { findRecipient } from './recipient.ts'

async function authorize(fastify: FastifyInstance): Promise<void> {
  const { oauth, browser, interactions } = fastify
  const { doors } = kernelOf(fastify)
  const { basePath } = oauth.config
  const answers = createAnswers(oauth)
  const parseRequest = createRequestParser(oauth)

  // Kept for refresh: what was asked for and dropped here is dropped there again.
  oauth.add('parameter', { name: 'scope', schema: Type.String(), kept: true })
  oauth.register('outcome', 'authorization_response', {
    async check({ client: { clientId }, redirectUri = '' }) {
      await findRecipient(oauth, { client_id: clientId, redirect_uri: redirectUri })
    },
    async approved({ request }, granted, { reply }) {
      const asked = request as AuthorizationRequest
      try {
        assertServed({ response_type: asked.responseType, response_mode: asked.responseMode }, asked, oauth)
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error
        return answers.sendError(reply, asked, error)
      }
      const responseType = oauth.owners('responseType').get(asked.responseType)!
      let answer: Wire
      try {
        answer = await responseType.respond(granted, asked)
      } catch (error) {
        // The session or the consent behind it has ended meanwhile: the client may ask again.
        if (!(error instanceof OAuthError) || error.status >= 500) throw error
        return answers.sendError(reply, asked, error)
      }
      return answers.send(reply, asked, answer)
    },
    denied: async ({ request }, error, { reply }) =>
      answers.sendError(reply, request as AuthorizationRequest, error),
  })

  async function respond(text: string, call: BrowserCall): Promise<FastifyReply> {
    const { wire, repeated } = parseFormLeniently(text)
    const recipient = await findRecipient(oauth, wire, repeated)
    const address = answers.addressOf(recipient, wire, repeated)
    let request: AuthorizationRequest
    try {
      request = await parseRequest(recipient, address, wire, repeated)
    } catch (error) {
      // What failed here, and not at the client, is for the person in front of the browser to know.
      if (!(error instanceof OAuthError) || error.status >= 500) throw error
      return answers.sendError(call.reply, address, error)
    }
    return interactions.start(request, 'authorization_response', {}, call)
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

  oauth.extend('metadata', async () => ({
    authorization_endpoint: `${oauth.issuer}/authorize`,
    response_types_supported: [...oauth.owners('responseType').keys()],
    response_modes_supported: [...oauth.owners('responseMode').keys()],
    scopes_supported: [...OPENID_SCOPES],
    authorization_response_iss_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    claims_parameter_supported: doors.all('parameter').some(({ name }) => name === 'claims'),
  }))
}

export default fp(authorize, {
  name: 'latchkey-authorize',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-interaction'],
})
