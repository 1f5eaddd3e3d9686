/**
 * `/upstreams` in the interface of the administration: the providers by which people sign in here. Whoever registers one has it say
 * who they are, so that this needs a token that may do all.
 */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { Type } from '../../src/protocol/schema.ts'
import { KINDS, SECRET_METHODS } from '../../src/protocol/upstream-kinds.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'
import { ALL } from '../admin-api/access.ts'
import { addRecordOperations } from '../admin-api/record-operations.ts'

const Members = {
  id: Type.String({ description: 'Small letters, digits and hyphens: its name in addresses.' }),
  kind: Type.Optional(
    Type.Enum(KINDS, {
      description:
        'How it speaks: OpenID Connect, OAuth 2.0 alone, or as GitHub or Apple does; by default openid.',
    }),
  ),
  issuer: Type.Optional(
    Type.String({
      description: 'Letter by letter as its metadata has it; of github.com and Apple it is known.',
    }),
  ),
  client_id: Type.String({ description: 'What this server is called there.' }),
  client_secret: Type.Optional(
    Type.String({
      description: 'Kept encrypted, and never answered. Of Apple, all of the file AuthKey_*.p8.',
      writeOnly: true,
    }),
  ),
  authorization_endpoint: Type.Optional(Type.String({ description: 'Of the kind oauth2 alone.' })),
  token_endpoint: Type.Optional(Type.String({ description: 'Of the kind oauth2 alone.' })),
  userinfo_endpoint: Type.Optional(
    Type.String({
      description: 'Of the kind oauth2 alone: where an access token is shown for who it is of.',
    }),
  ),
  token_endpoint_auth_method: Type.Optional(
    Type.Enum(SECRET_METHODS, {
      description: 'Of the kind oauth2 alone; by default client_secret_basic.',
    }),
  ),
  subject_claim: Type.Optional(
    Type.String({ description: 'Of the kind oauth2 alone: what says who somebody is; by default sub.' }),
  ),
  team_id: Type.Optional(Type.String({ description: 'Of the kind apple alone.' })),
  key_id: Type.Optional(Type.String({ description: 'Of the kind apple alone.' })),
  name: Type.Optional(Type.String({ description: 'What people read on its button.' })),
  scope: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'What is asked for; by default openid, profile and email, of GitHub read:user and user:email, of Apple name and email.',
    }),
  ),
  domains: Type.Optional(
    Type.Array(Type.String(), { description: 'Domains of mail addresses that are its people’s.' }),
  ),
  trust_email: Type.Optional(
    Type.Boolean({
      description: 'Whether an address of these domains that it has verified is believed; by default false.',
    }),
  ),
  sign_up: Type.Optional(
    Type.Boolean({
      description:
        'Whether whoever comes from there gets an account; by default those alone whose address is believed.',
    }),
  ),
  sign_out: Type.Optional(
    Type.Boolean({
      description: 'Whether who signs out here is led there to sign out too; by default false.',
    }),
  ),
  button: Type.Optional(
    Type.Boolean({
      description: 'Whether it has a button; without, people find it by their address. By default true.',
    }),
  ),
  claims: Type.Optional(
    Type.Object({}, { description: 'By the name of a claim here, the name that it has there.' }),
  ),
}

export function addUpstreamOperations(fastify: FastifyInstance): void {
  const { upstreams } = kernelOf(fastify)
  addRecordOperations<UpstreamInformation>(fastify.adminApi, {
    noun: 'upstream',
    identifier: 'id',
    members: Members,
    scopes: { read: ALL, write: ALL },
    ending: 'Removes an upstream: nobody signs in by it from then on',
    find: upstreams.find,
    list: upstreams.list,
    save: upstreams.save,
    delete: upstreams.delete,
  })
}
