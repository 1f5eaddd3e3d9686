/** What is registered of token exchange (RFC 8693): a client's member `token_exchange`, a list of rules. */
import type { Static } from 'typebox'
import { Type } from './schema.ts'

const Names = () => Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), { minItems: 1, maxItems: 100 })

export const ExchangeRule = Type.Object(
  {
    /** Whose tokens: client_ids that they were issued to. */
    subject_clients: Type.Optional(Names()),
    /** Whose JWTs: trusted issuers. One of the two is needed. */
    subject_issuers: Type.Optional(Names()),
    /** For what: identifiers of resources, or aliases. */
    resources: Names(),
    /**
     * Issuers of other authorization servers, at which the user may be vouched for (ID-JAG). Such a rule gives no access tokens, and its
     * resources and scopes are theirs.
     */
    audiences: Type.Optional(Names()),
    /** What the client is called there; by default as here. */
    client_id: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    /** Which client these other servers are here: the user is named there by the `sub` that it knows. Needed by who knows a pairwise one. */
    audience_client: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    /** At most these, whatever the token has; by default those that the token has. */
    scopes: Type.Optional(Names()),
    /** Whose tokens may say who acts beside the client; by default its own. */
    actor_clients: Type.Optional(Names()),
    /** Trusted issuers whose JWTs may say so; by default none. */
    actor_issuers: Type.Optional(Names()),
    /** Whether the new token says who acts; false for one that looks as if the subject itself had asked. Default true. */
    delegation: Type.Optional(Type.Boolean()),
  },
  {
    additionalProperties: false,
    // What is vouched for at others is what an app of ours was told of its user.
    anyOf: [
      { required: ['subject_clients'] },
      { required: ['subject_issuers'], not: { required: ['audiences'] } },
    ],
  },
)

export type ExchangeRule = Static<typeof ExchangeRule>

export const ExchangeRules = () => Type.Array(ExchangeRule, { maxItems: 50 })
