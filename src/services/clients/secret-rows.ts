/** The secrets that a client has, as rows beside its own. */
import type { EntityManager } from '@mikro-orm/postgresql'
import { randomUUID } from 'node:crypto'
import { ClientSecret, type Client } from '../../entities/client.ts'
import { isUsable, type NewSecret } from './client-secrets.ts'

export function addSecret(em: EntityManager, client: Client, secret: NewSecret): void {
  em.create(ClientSecret, { id: randomUUID(), client, ...secret }, { persist: true })
}

/** From now on this one is right, and of those before it the newest for `overlap` seconds more. */
export function replaceSecrets(em: EntityManager, client: Client, secret: NewSecret, overlap = 0): void {
  const [newest, ...older] = client.secrets
    .getItems()
    .toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
  for (const one of older) client.secrets.remove(one)
  if (newest !== undefined && overlap > 0) newest.expiresAt = new Date(Date.now() + overlap * 1000)
  else if (newest !== undefined) client.secrets.remove(newest)
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
