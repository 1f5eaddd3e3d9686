/**
 * Registration access tokens (RFC 7592 §3): each use gives the next one, and the one before stays good until that is used, so that
 * a lost answer locks nobody out. The next follows from the one before under a secret of ours, so whoever asks twice is told the same.
 */
import type { EntityManager } from '@mikro-orm/postgresql'
import { type Allowance, Registration } from '../../entities/registration.ts'
import { hashOf, isSameHash } from '../../protocol/handle.ts'
import { randomText } from '../../protocol/random.ts'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/registrations.ts'
import { clientSecretOf } from '../clients/client-secrets.ts'
import type { FindServerSecret } from '../keys/server-secrets.ts'
import { createKeyedHash } from './keyed-hash.ts'

/** By which scanners find a leaked one. */
const PREFIX = 'lkr_'
const FORM = /^lkr_[A-Za-z0-9_-]{43}$/

export interface RegistrationTokens {
  create(): string
  /** In the transaction that registers the client. */
  store(em: EntityManager, clientId: string, token: string, allowance: Allowance): void
  /** What the client was allowed, and the token that is to be used from now on; null where the token is not one of its two. */
  use(clientId: string, token: string): Promise<Used | null>
}

export interface Used {
  readonly allowance: Allowance
  readonly next: string
  /**
   * The secret that a client of this method gets by this use, where it needs another one, as the one that is stored under `id`: whoever asks twice
   * is told the same, and one that has ended never comes again.
   */
  secretFor(method: string | null | undefined, id: string): Promise<string>
}

/** @internal */
export function createRegistrationTokens(database: Database, secret: FindServerSecret): RegistrationTokens {
  const keyed = createKeyedHash(secret)

  const nextOf = async (token: string): Promise<string> =>
    PREFIX + (await keyed('sha256', token)).toString('base64url')

  async function read(clientId: string, token: string) {
    if (!FORM.test(token) || clientId === '') return null
    const [row] = await database.query(statements.find, [clientId])
    if (row === undefined) return null
    const hash = hashOf(token)
    const isNew = isSameHash(hash, row.hash)
    const isFormer = isSameHash(hash, row.formerHash ?? '')
    return isNew || isFormer ? { allowance: row.allowance, hash, isNew } : null
  }

  return {
    create: () => PREFIX + randomText(32, 'base64url'),
    store(em, client, token, allowance) {
      const row = { client, hash: hashOf(token), allowance, usedAt: new Date() }
      em.create(Registration, row, { persist: true })
    },
    async use(clientId, token) {
      const found = await read(clientId, token)
      if (found === null) return null
      const next = await nextOf(token)
      if (found.isNew) await database.query(statements.advance, [clientId, found.hash, hashOf(next)])
      const secretFor: Used['secretFor'] = async (method, id) =>
        clientSecretOf(await keyed('sha512', `client secret\0${id}\0${token}`), method)
      return { allowance: found.allowance, next, secretFor }
    },
  }
}
