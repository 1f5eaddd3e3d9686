/** Takes answers back to the client: by the response mode it asked for, with `state` and `iss` (RFC 9207) in each. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { OAuthError } from '../../src/protocol/errors.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { answerAskedBy } from './request-object.ts'
import type { Recipient } from './recipient.ts'

/** Where, how and with what `state` a client wants to be answered. */
export interface AnswerAddress {
  readonly redirectUri: string
  readonly responseMode: string
  readonly state?: string
}

export interface Answers {
  /** What of it can be used: a mode that is not served, or a bad `state`, is for the request parser to refuse. */
  addressOf(recipient: Recipient, wire: Wire, repeated: ReadonlySet<string>): AnswerAddress
  send(reply: FastifyReply, address: AnswerAddress, answer: Wire): FastifyReply
  sendError(reply: FastifyReply, address: AnswerAddress, error: OAuthError): FastifyReply
}

const DEFAULT_MODE = 'query'
const MAX_STATE = 4096

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
    addressOf({ redirectUri }, wire, repeated) {
      const { response_mode: mode, state } = { ...answerAskedBy(wire['request']), ...wire }
      const served =
        typeof mode === 'string' && owners('responseMode').has(mode) && !repeated.has('response_mode')
      const usable = typeof state === 'string' && state.length <= MAX_STATE && !repeated.has('state')
      return { redirectUri, responseMode: served ? mode : DEFAULT_MODE, ...(usable ? { state } : {}) }
    },
    send,
    sendError(reply, address, error) {
      reply.log.info({ error: error.code, description: error.message }, 'authorization refused')
      return send(reply, address, { error: error.code, error_description: error.message })
    },
  }
}
