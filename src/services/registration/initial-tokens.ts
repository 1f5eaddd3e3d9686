/** Initial access tokens (RFC 7591 §3): who may register a client, how often, and what it may ask for. */
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Static } from 'typebox'
import { InitialToken } from '../../entities/registration.ts'
import { metadataError } from '../../protocol/errors.ts'
import { hashOf } from '../../protocol/handle.ts'
import { isObject, isStorable } from '../../protocol/json.ts'
import { reason } from '../../protocol/message.ts'
import { readEach } from '../../protocol/record-members.ts'
import { randomText } from '../../protocol/random.ts'
import { ASCII_WITHOUT_SPACES, misfitOf, Type } from '../../protocol/schema.ts'
import { isScopeToken } from '../../protocol/scope.ts'
import type { Database } from '../../store/database.ts'
import { statements, type InitialTokenRow } from '../../store/registrations.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { ListOptions } from '../resource-registry.ts'

/** By which scanners find a leaked one. */
const PREFIX = 'lki_'
const FORM = /^lki_[A-Za-z0-9_-]{43}$/
const Names = () => Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 100 })

const InitialTokenInput = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100, pattern: ASCII_WITHOUT_SPACES }),
  /** How many clients it registers; default 1. */
  uses: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
  /** Seconds; default 7 days. */
  expires_in: Type.Optional(Type.Integer({ minimum: 60, maximum: 315_360_000 })),
  /** Registered scopes that its clients may have beside those of OpenID Connect; default OIDC_REGISTRATION_SCOPES. */
  scopes: Type.Optional(Names()),
  /** Default the code flow's. */
  grant_types: Type.Optional(Names()),
  /** Hosts that redirect URIs may have; default any. */
  redirect_hosts: Type.Optional(Names()),
})
type InitialTokenInput = Static<typeof InitialTokenInput>

/** Never the token itself. */
export interface InitialTokenInformation {
  readonly name: string
  readonly uses_left: number
  readonly expires_at: string
  readonly created_at: string
  readonly scopes?: readonly string[]
  readonly grant_types?: readonly string[]
  readonly redirect_hosts?: readonly string[]
}

export interface InitialTokens {
  /** The token, this once. Throws `invalid_client_metadata` naming the field. */
  create(input: unknown): Promise<string>
  /** In the order of their names; used up and expired ones too, for a month. */
  list(options?: ListOptions): Promise<InitialTokenInformation[]>
  /** What a token that is good now allows; null for any other. */
  find(token: string): Promise<Pick<InitialTokenRow, 'hash' | 'allowance'> | null>
  /** Uses it once, in the transaction that registers a client. False where it is good no more; another one may have its name by then. */
  spend(em: EntityManager, found: Pick<InitialTokenRow, 'hash'>): Promise<boolean>
  /** False where there was none. What it has registered stays. */
  delete(name: string): Promise<boolean>
}

const LIFETIME = 7 * 86_400

/** @internal */
export function createInitialTokens(database: Database, audit: AuditTrail): InitialTokens {
  return {
    async create(input) {
      const { name, uses = 1, expires_in: lifetime = LIFETIME, ...more } = parse(input)
      const { scopes, grant_types: grantTypes, redirect_hosts: redirectHosts } = more
      const token = PREFIX + randomText(32, 'base64url')
      const allowance = JSON.stringify({ scopes, grantTypes, redirectHosts })
      await audit.transaction(async (query, note) => {
        const values = [name, hashOf(token), uses, lifetime, allowance]
        const [created] = await query(statements.createToken, values)
        if (created === undefined) throw metadataError('name', reason('is that of another initial token'))
        note({ type: 'initial_token.created', details: { initialToken: name, uses } })
      })
      return token
    },
    async list({ after = '', limit = 100 } = {}) {
      return (await database.query(statements.listTokens, [after, limit])).map(toInformation)
    },
    async find(token) {
      if (!FORM.test(token)) return null
      return (await database.query(statements.findToken, [hashOf(token)]))[0] ?? null
    },
    async spend(em, { hash }) {
      const { raw } = await import('@mikro-orm/core')
      const good = { hash, usesLeft: { $gt: 0 }, expiresAt: { $gt: raw('now()') } }
      const usesLeft: number = raw('uses_left - 1')
      return (await em.nativeUpdate(InitialToken, good, { usesLeft })) > 0
    },
    async delete(name) {
      return audit.transaction(async (query, note) => {
        const [deleted] = await query(statements.deleteToken, [name])
        if (deleted !== undefined) note({ type: 'initial_token.deleted', details: { initialToken: name } })
        return deleted !== undefined
      })
    },
  }
}

function parse(input: unknown): InitialTokenInput {
  if (!isObject(input) || !isStorable(input)) throw metadataError('name', 'must be a text')
  const checks = Object.entries(InitialTokenInput.properties).map(([member, schema]) => {
    const check = () => {
      const value = input[member]
      if (value === undefined && member !== 'name') return
      const misfit = misfitOf(schema, value)
      if (misfit !== undefined) throw metadataError(member, misfit.words)
      assertNames(member, value)
    }
    return [member, check] as const
  })
  readEach(Object.fromEntries(checks))
  return input as InitialTokenInput
}

/** Of a member that has its form. */
function assertNames(member: string, value: unknown): void {
  if (member === 'scopes' && !(value as string[]).every(isScopeToken))
    throw metadataError(member, reason('must hold scope names of RFC 6749 section 3.3'))
  const isHost = (host: string): boolean => URL.parse(`https://${host}/`)?.hostname === host
  if (member === 'redirect_hosts' && !(value as string[]).every(isHost))
    throw metadataError(member, reason('must hold host names such as app.example'))
}

function toInformation({ name, usesLeft, expiresAt, allowance, createdAt }: InitialTokenRow) {
  const { scopes, grantTypes, redirectHosts } = allowance
  return {
    name,
    uses_left: usesLeft,
    expires_at: expiresAt.toISOString(),
    created_at: createdAt.toISOString(),
    ...(scopes === undefined ? {} : { scopes }),
    ...(grantTypes === undefined ? {} : { grant_types: grantTypes }),
    ...(redirectHosts === undefined ? {} : { redirect_hosts: redirectHosts }),
  }
}
