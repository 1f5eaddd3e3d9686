/** Somebody else whose JWTs are believed here, and how far. */
import { defineEntity, p } from './define.ts'

const TrustedIssuerSchema = defineEntity({
  name: 'TrustedIssuer',
  tableName: 'trusted_issuers',
  properties: {
    issuer: p.text().primary(),
    /** Another one each time that it is registered or enabled: what was given by a former one is not its. */
    generation: p.uuid(),
    jwksUri: p.text().nullable(),
    jwks: p.json<object>().nullable(),
    algorithms: p.array().columnType('text[]').nullable(),
    audiences: p.array().columnType('text[]').nullable(),
    subject: p.text().nullable(),
    subjectClaim: p.text().nullable(),
    scopes: p.array().columnType('text[]').nullable(),
    resources: p.array().columnType('text[]').nullable(),
    clients: p.array().columnType('text[]').nullable(),
    /** What claims must say. */
    claims: p.json<Record<string, string | readonly string[]>>().nullable(),
    /** Seconds. */
    maxAge: p.integer().nullable(),
    reusable: p.boolean().nullable(),
    disabled: p.boolean().nullable(),
    /** When a JWT of it was last found good, a few minutes old; null for never. */
    usedAt: p.datetime().nullable(),
  },
})

export class TrustedIssuer extends TrustedIssuerSchema.class {}
TrustedIssuerSchema.setClass(TrustedIssuer)
