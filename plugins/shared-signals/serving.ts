/** How the addresses of shared signals are served: JSON, and a token for their own resource with the scopes of the CAEP Interoperability Profile. */
import type { FastifyInstance } from 'fastify'
import type { TObject, Static } from 'typebox'
import type { Answer } from '../../src/doors/answer.ts'
import type { BearerCall, EndpointMethod } from '../../src/doors/endpoint.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { ProgramAccess } from '../programs/access.ts'

/** Below the issuer; with the issuer before it, the identifier of the resource. */
export const PATH = '/ssf'
/** CAEP Interoperability Profile 1.0 §2.7.3. */
export const READ = 'ssf.read'
export const MANAGE = 'ssf.manage'
export const SCOPES = {
  [READ]: message('See its stream of security events, and collect them'),
  [MANAGE]: message('Set up and change its stream of security events'),
} as const
export const IMPLIED = { [MANAGE]: [READ] } as const

/** In which most requests name their stream. */
export const StreamId = Type.String({ minLength: 1, maxLength: 100 })

export interface SignalsEndpoint<P extends TObject> {
  readonly method: EndpointMethod
  /** Below `/ssf`. */
  readonly path: `/${string}`
  readonly scope: keyof typeof SCOPES
  /** Of the query where the method has no body, else of the JSON. */
  readonly parameters: P
  handle(parameters: Static<P>, call: BearerCall): Promise<Bag | Answer>
}

export type ServeSignals = <P extends TObject>(endpoint: SignalsEndpoint<P>) => void

export function createServeSignals({ oauth }: FastifyInstance, access: ProgramAccess): ServeSignals {
  return ({ path, scope, handle, ...endpoint }) =>
    oauth.registerEndpoint({
      ...endpoint,
      path: `${PATH}${path}`,
      caller: 'bearer',
      body: 'json',
      scopes: [scope],
      requireScope: access.requireScope,
      async handle(parameters, call) {
        access.nameActor(call)
        return handle(parameters, call)
      },
    })
}
