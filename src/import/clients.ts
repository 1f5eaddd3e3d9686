/** Brings one translated client into the registry. */
import { isDeepStrictEqual } from 'node:util'
import { OAuthError } from '../protocol/errors.ts'
import type { ClientRegistry } from '../services/clients/client-registry.ts'
import type { Applied, ImportContext } from './context.ts'
import { translateClient, type TranslatedClient } from './django-client.ts'
import type { DumpRecord } from './dump.ts'

export async function applyClient(
  { fields }: DumpRecord,
  { clients, options, responseTypes }: ImportContext,
): Promise<Applied> {
  const translated = translateClient(fields, responseTypes)
  const { members, notes } = await fit(translated, clients)
  const clientId = members['client_id'] as string
  const found = await clients.find(clientId)
  if (found !== null && !options.update) return { action: 'keep', notes: ['is here already'] }
  if (found === null) {
    if (!options.dryRun) await clients.create(members, { generateSecret: false })
    return { action: 'create', notes }
  }
  const changed = await changedMembers(members, found, clients)
  if (Object.keys(changed).length === 0) return { action: 'keep', notes }
  if (!options.dryRun) await clients.update(clientId, changed)
  return { action: 'update', notes }
}

/** Leaves out what the registry refuses of the optional members. Throws for what it refuses of the others. */
async function fit({ members, optional, notes }: TranslatedClient, clients: ClientRegistry) {
  const unserved = await clients.check(members)
  const fitting = { ...members }
  const told = [
    ...notes,
    ...unserved.map(({ field, name }) => `${field} ${name}: stored, but nothing serves it`),
  ]
  for (const [name, value] of Object.entries(optional)) {
    try {
      await clients.check({ ...members, [name]: value })
      fitting[name] = value
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      told.push(`${error.message}: not taken over`)
    }
  }
  return { members: fitting, notes: told }
}

async function changedMembers(
  { client_id, client_secret: secret, ...members }: Record<string, unknown>,
  found: Readonly<Record<string, unknown>>,
  clients: ClientRegistry,
): Promise<Record<string, unknown>> {
  const changed = Object.entries(members).filter(([name, value]) => !isDeepStrictEqual(value, found[name]))
  const sameSecret = typeof secret !== 'string' || (await clients.hasSecret(client_id as string, secret))
  return { ...Object.fromEntries(changed), ...(sameSecret ? {} : { client_secret: secret }) }
}
