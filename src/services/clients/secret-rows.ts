/** The secrets that a client has, as rows beside its own. */
import type { EntityManager } from '@mikro-orm/postgresql'
import { randomUUID } from 'node:crypto'
import { ClientSecret, type Client } from '../../entities/client.ts'
import { isUsable, type NewSecret } from './client-secrets.ts'

export function addSecret(em: EntityManager, client: Client, secret: NewSecret): void {
  const { id = randomUUID(), hash, sealed } = secret
  em.create(ClientSecret, { id, client, hash, sealed }, { persist: true })
}

/** Of those before the one that is right, how many work beside it. */
const MOST_FORMER = 5

/**
 * From now on this one is right, and the one before it for `overlap` seconds more. Those before that keep the time that they
 * have: whose answer was lost asks again, and uses one of them until then. Without overlap all end at once.
 */
export function replaceSecrets(em: EntityManager, client: Client, secret: NewSecret, overlap = 0): void {
  const now = Date.now()
  const live = client.secrets
    .getItems()
    .filter(({ expiresAt }) => Number(expiresAt ?? Infinity) > now)
    .toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
  const kept = overlap > 0 ? live.slice(0, MOST_FORMER) : []
  for (const one of client.secrets.getItems()) if (!kept.includes(one)) client.secrets.remove(one)
  for (const one of kept) one.expiresAt ??= new Date(now + overlap * 1000)
  addSecret(em, client, secret)
}

/** Ends those that the client cannot use by its method. */
export function removeUnusable({ secrets, tokenEndpointAuthMethod: method }: Client): void {
  for (const one of secrets.getItems()) if (!isUsable(one, method)) secrets.remove(one)
}

/** From now on none is right. */
export function removeSecrets({ secrets }: Client): void {
  for (const one of secrets.getItems()) secrets.remove(one)
}
