/** Takes answers back to the client: by the response mode it asked for, with `state` and `iss` (RFC 9207) in each. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { AnsweredRequest, AuthorizationAnswer } from '../../src/doors/approval.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { OAuthError } from '../../src/protocol/errors.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { defaultModeOf } from '../../src/services/tokens/answer-address.ts'

export interface Answers {
  /** What came of `about.granted`, as its response type made it. */
  send(reply: FastifyReply, about: Required<AuthorizationAnswer>, answer: Wire): Promise<FastifyReply>
  sendError(reply: FastifyReply, request: AnsweredRequest, error: OAuthError): Promise<FastifyReply>
}

export function createAnswers(fastify: FastifyInstance): Answers {
  const { issuer, doors } = kernelOf(fastify)

  async function send(reply: FastifyReply, about: AuthorizationAnswer, answer: Wire): Promise<FastifyReply> {
    const { request } = about
    const { client, responseMode, responseType, state } = request
    const owned = { ...answer, ...(state === undefined ? {} : { state }), iss: issuer }
    const call = { request: reply.request, reply, client }
    const whole = (await doors.withContributions('authorizationResponse', about, owned, call)) as Wire
    const modes = doors.owners('responseMode')
    // The one that was asked for is gone where the server has been started anew without its plugin.
    const mode = modes.get(responseMode) ?? modes.get(defaultModeOf(doors, responseType))
    return mode!.send(reply, request, whole)
  }

  return {
    send,
    sendError(reply, request, error) {
      reply.log.info({ error: error.code, description: error.message }, 'authorization refused')
      return send(reply, { request }, { error: error.code, error_description: error.message })
    },
  }
}
