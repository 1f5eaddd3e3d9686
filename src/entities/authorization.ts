/** What the tokens of one approval have in common. Tokens name it; revoking it ends them all. */
import { defineEntity, p } from './define.ts'
import type { Actor, Authentication, Binding, Parent } from '../protocol/facts.ts'

const AuthorizationSchema = defineEntity({
  name: 'Authorization',
  tableName: 'authorizations',
  properties: {
    id: p.uuid().primary(),
    clientId: p.text(),
    subject: p.text(),
    scopes: p.array().columnType('text[]'),
    resources: p.array().columnType('text[]'),
    parameters: p.json<Record<string, unknown>>(),
    authentication: p.json<Authentication>().nullable(),
    actor: p.json<Actor>().nullable(),
    binding: p.json<Binding>().nullable(),
    parent: p.json<Parent>().nullable(),
    /** No token of it is good any more. */
    notAfter: p.datetime().nullable(),
    /** What the code proved that it came from, by which a second use of that is known; null where there was none. */
    codeProof: p.text().nullable(),
    createdAt: p
      .datetime()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    revokedAt: p.datetime().nullable(),
    /** Why it was revoked, for people who ask later. */
    revocationCause: p.text().nullable(),
    /** Not dead before: then it is looked at, and kept longer or removed with its code and refresh tokens. */
    keptUntil: p.datetime().defaultRaw("(now() + '1 day'::interval)").index(),
  },
  /** For the lists of those that live. */
  indexes: [
    {
      name: 'authorizations_of_user_index',
      properties: ['subject', 'clientId', 'createdAt', 'id'],
      where: '"revoked_at" is null',
    },
    {
      name: 'authorizations_of_client_index',
      properties: ['clientId', 'createdAt', 'id'],
      where: '"revoked_at" is null',
    },
  ],
})

export class Authorization extends AuthorizationSchema.class {}
AuthorizationSchema.setClass(Authorization)
