/** The secrets that a client has, as rows beside its own. */
import type { EntityManager } from '@mikro-orm/postgresql'
import { randomUUID } from 'node:crypto'
import { ClientSecret, type Client } from '../../entities/client.ts'

export function addSecret(em: EntityManager, client: Client, hash: string): void {
  em.create(ClientSecret, { id: randomUUID(), client, hash }, { persist: true })
}

/** From now on this one is right, and of those before it the newest for `overlap` seconds more. */
export function replaceSecrets(em: EntityManager, client: Client, hash: string, overlap = 0): void {
  const [newest, ...older] = client.secrets
    .getItems()
    .toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
  for (const one of older) client.secrets.remove(one)
  if (newest !== undefined && overlap > 0) newest.expiresAt = new Date(Date.now() + overlap * 1000)
  else if (newest !== undefined) client.secrets.remove(newest)
  addSecret(em, client, hash)
}

/** From now on none is right. */
export function removeSecrets({ secrets }: Client): void {
  for (const one of secrets.getItems()) secrets.remove(one)
}
