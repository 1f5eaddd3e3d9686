/**
 * `/trusted-issuers`: others whose JWTs are good here. Whoever has the keys of one speaks for users, and for clients that are proven by it,
 * so that registering one needs a token that may do all.
 */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { Type } from '../../src/protocol/schema.ts'
import { SUBJECTS } from '../../src/protocol/trusted-issuer-information.ts'
import {
  findOnWire,
  listOnWire,
  type TrustedIssuerOnWire,
} from '../../src/services/trusted-issuers/trusted-issuer-wire.ts'
import { ALL } from './access.ts'
import type { AdminApi } from './operations.ts'
import { addRecordOperations } from './record-operations.ts'

const Texts = (description: string) => Type.Optional(Type.Array(Type.String(), { description }))
const Members = {
  issuer: Type.String({ description: 'As its JWTs have it in iss; of SPIFFE, the trust domain.' }),
  jwks_uri: Type.Optional(
    Type.String({ description: 'Where its public keys are; it has this or jwks, and not both.' }),
  ),
  jwks: Type.Optional(Type.Object({}, { description: 'Its public keys (RFC 7517 section 5).' })),
  algorithms: Texts('JWS algorithms that are taken; by default all of public keys.'),
  audiences: Texts('What its JWTs have in aud; by default this server.'),
  subject: Type.Optional(
    Type.Enum(SUBJECTS, {
      description:
        'By what somebody of theirs is a user here; client is the client that asks. By default email or username, as subject_claim has it, and link without one.',
    }),
  ),
  subject_claim: Type.Optional(
    Type.String({ description: 'The claim that says who somebody is; by default sub or email.' }),
  ),
  scopes: Texts('What its JWTs may give at most; by default nothing.'),
  resources: Texts('For which resources; by default those of the scopes.'),
  clients: Texts('Who may use its JWTs as grants; by default whoever is registered for the grant.'),
  claims: Type.Optional(
    Type.Object({}, { description: 'By the name of a claim, what it must say: a text, or one of a list.' }),
  ),
  max_age: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Seconds: how old a JWT may be; by default 3600.' }),
  ),
  reusable: Type.Optional(
    Type.Boolean({ description: 'Whether a JWT may be used more than once; by default false.' }),
  ),
  disabled: Type.Optional(
    Type.Boolean({ description: 'Whether nothing of it is good now; by default false.' }),
  ),
  last_used: Type.Optional(
    Type.String({
      format: 'date-time',
      readOnly: true,
      description: 'When a JWT of it was last good, a few minutes old; absent before one was.',
    }),
  ),
}

export function addTrustedIssuers(fastify: FastifyInstance, api: AdminApi): void {
  const { trustedIssuers } = kernelOf(fastify)
  addRecordOperations<TrustedIssuerOnWire>(api, {
    noun: 'trusted issuer',
    identifier: 'issuer',
    members: Members,
    scopes: { read: ALL, write: ALL },
    ending: 'Removes a trusted issuer: what came of its JWTs ends',
    find: async (issuer) => findOnWire(trustedIssuers, issuer),
    list: async (options) => listOnWire(trustedIssuers, options),
    save: trustedIssuers.save,
    delete: trustedIssuers.delete,
  })
}
