/** Takes answers back to the client: by the response mode it asked for, with `state` and `iss` (RFC 9207) in each. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { OAuthError } from '../../src/protocol/errors.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { AnswerAddress } from '../../src/services/tokens/answer-address.ts'

export interface Answers {
  send(reply: FastifyReply, address: AnswerAddress, answer: Wire): FastifyReply
  sendError(reply: FastifyReply, address: AnswerAddress, error: OAuthError): FastifyReply
}

export function createAnswers({ issuer, owners }: FastifyInstance['oauth']): Answers {
  function send(
    reply: FastifyReply,
    { redirectUri, responseMode, state }: AnswerAddress,
    answer: Wire,
  ): FastifyReply {
    const mode = owners('responseMode').get(responseMode)!
    return mode.send(reply, redirectUri, {
      ...answer,
      ...(state === undefined ? {} : { state }),
      iss: issuer,
    })
  }

  return {
    send,
    sendError(reply, address, error) {
      reply.log.info({ error: error.code, description: error.message }, 'authorization refused')
      return send(reply, address, { error: error.code, error_description: error.message })
    },
  }
}
