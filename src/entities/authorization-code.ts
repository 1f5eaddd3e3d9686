/**
 * An authorization code (RFC 6749 §4.1.2), until it is spent. It carries the id of the Authorization that its exchange will
 * make.
 */
import { defineEntity, p } from './define.ts'
import type { StoredGranted } from '../protocol/facts.ts'

const AuthorizationCodeSchema = defineEntity({
  name: 'AuthorizationCode',
  tableName: 'authorization_codes',
  properties: {
    authorizationId: p.uuid().primary(),
    /** SHA-256 of the code, base64url. */
    hash: p.text().primary(),
    clientId: p.text(),
    subject: p.text().index(),
    redirectUri: p.text(),
    /** RFC 7636 §4.2, always S256; null when the client sent none. */
    codeChallenge: p.text().nullable(),
    /** What was approved, but whose and on which consent. */
    granted: p.json<StoredGranted>(),
    /** SHA-256 of the code and of all that it is bound to, base64url: goes over to the Authorization. */
    proof: p.text().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
    expiresAt: p.datetime(),
    /** Of those alone that an earlier version spent: it kept them as long as their Authorization, to know them again. */
    spentAt: p.datetime().nullable(),
  },
  indexes: [
    { name: 'authorization_codes_unspent_index', properties: ['expiresAt'], where: '"spent_at" is null' },
  ],
})

export class AuthorizationCode extends AuthorizationCodeSchema.class {}
AuthorizationCodeSchema.setClass(AuthorizationCode)
