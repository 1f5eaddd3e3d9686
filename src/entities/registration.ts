/** What is kept of clients that came by the registration endpoint, and of the tokens by which they may come. */
import { Client } from './client.ts'
import { defineEntity, p } from './define.ts'

/** What a client may ask for at its registration, and at each update of it. */
export interface Allowance {
  readonly scopes?: readonly string[]
  readonly grantTypes?: readonly string[]
  readonly redirectHosts?: readonly string[]
}

const RegistrationSchema = defineEntity({
  name: 'Registration',
  tableName: 'registrations',
  properties: {
    client: () => p.manyToOne(Client).fieldName('client_id').deleteRule('cascade').primary(),
    /** SHA-256 of its registration access token. */
    hash: p.text(),
    /** Of the one before, which is good until the new one is used. */
    formerHash: p.text().nullable(),
    allowance: p.json<Allowance>(),
    /** When a token was issued to it as far as somebody has looked, or it was registered. */
    usedAt: p.datetime().defaultRaw('now()'),
  },
  indexes: [{ properties: ['usedAt'] }],
})

/** A client's registration access token (RFC 7592 §3), and what it was allowed when it came. */
export class Registration extends RegistrationSchema.class {}
RegistrationSchema.setClass(Registration)

const InitialTokenSchema = defineEntity({
  name: 'InitialToken',
  tableName: 'initial_tokens',
  properties: {
    name: p.text().primary(),
    /** SHA-256. */
    hash: p.text().unique(),
    usesLeft: p.integer(),
    expiresAt: p.datetime().index(),
    allowance: p.json<Allowance>(),
    createdAt: p.datetime().defaultRaw('now()'),
  },
})

/** An initial access token (RFC 7591 §3), by the name that an administrator gave it. */
export class InitialToken extends InitialTokenSchema.class {}
InitialTokenSchema.setClass(InitialToken)
