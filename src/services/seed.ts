/** SEED_FILE: resources, scopes, clients and users that shall be there. Applying it again changes nothing. */
import { readFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyBaseLogger } from 'fastify'
import { ConfigError } from '../config.ts'
import { metadataError, parseMetadata } from '../protocol/client-metadata.ts'
import { OAuthError } from '../protocol/errors.ts'
import { isObject, parseJson } from '../protocol/json.ts'
import { parseUserMembers, userError } from '../protocol/user-members.ts'
import { isDuplicate } from '../store/failures.ts'
import type { ClientRegistry } from './clients/client-registry.ts'
import { runAs } from './audit/origin.ts'
import type { ResourceInformation, ResourceRegistry, ScopeInformation } from './resource-registry.ts'
import type { UserRegistry } from './users/user-registry.ts'

export interface SeedTargets {
  clients: ClientRegistry
  resources: ResourceRegistry
  users: UserRegistry
  log: FastifyBaseLogger
}

type Entry = Readonly<Record<string, unknown>>

const RESOURCE_MEMBERS = ['resource', 'name', 'scopes', 'access_token_format', 'access_token_lifetime']
const SCOPE_MEMBERS = ['name', 'description', 'resource']

/** Applies the file. Throws `ConfigError` with one sentence that names the entry, the field and the reason. */
export async function applySeedFile(path: string, targets: SeedTargets): Promise<void> {
  await runAs({ kind: 'seed', id: null }, async () => apply(path, targets))
}

async function apply(path: string, targets: SeedTargets): Promise<void> {
  const sections = await readSections(path)
  const { log } = targets
  for (const name of Object.keys(sections)) {
    if (!['resources', 'scopes', 'clients', 'users'].includes(name))
      log.warn({ section: name.slice(0, 100) }, 'SEED_FILE: unknown section')
  }
  await each(path, sections, 'resources', async (entry) => seedResource(entry, targets))
  await each(path, sections, 'scopes', async (entry) => {
    warnUnknown(entry, SCOPE_MEMBERS, 'scopes', log)
    await twice(async () => targets.resources.saveScope(entry as unknown as ScopeInformation))
  })
  await each(path, sections, 'clients', async (entry) => seedClient(entry, targets))
  await each(path, sections, 'users', async (entry) => seedUser(entry, targets))
}

async function readSections(path: string): Promise<Record<string, unknown>> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new ConfigError(`SEED_FILE ${path} cannot be read (${cause.code}).`)
  })
  const sections = parseJson(text)
  if (!isObject(sections)) throw new ConfigError(`SEED_FILE ${path} is not a JSON object.`)
  return sections
}

async function each(
  path: string,
  sections: Entry,
  section: string,
  apply: (entry: Entry) => Promise<void>,
): Promise<void> {
  const entries = sections[section] ?? []
  if (!Array.isArray(entries)) throw new ConfigError(`SEED_FILE ${path}: ${section} must be a list.`)
  for (const [at, entry] of entries.entries()) {
    try {
      if (typeof entry !== 'object' || entry === null)
        throw new OAuthError('invalid_request', 'must be an object')
      await apply(entry as Entry)
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      throw new ConfigError(`SEED_FILE ${path}: ${section}[${at}]: ${error.message}.`, { cause: error })
    }
  }
}

async function seedResource(entry: Entry, { resources, log }: SeedTargets): Promise<void> {
  warnUnknown(entry, RESOURCE_MEMBERS, 'resources', log)
  const { scopes = [], ...resource } = entry as unknown as ResourceInformation & { scopes?: string[] }
  if (!Array.isArray(scopes)) throw metadataError('scopes', 'must be a list of scope names')
  await twice(async () => resources.saveResource(resource))
  for (const name of scopes)
    await twice(async () => resources.saveScope({ name, resource: resource.resource }))
}

async function seedClient(entry: Entry, { clients, log }: SeedTargets): Promise<void> {
  const { client_id: clientId, client_secret: secret, ...members } = entry
  if (typeof clientId !== 'string') throw new OAuthError('invalid_client_metadata', 'client_id is missing')
  const found = await clients.find(clientId)
  if (found === null) {
    try {
      const created = await clients.create(entry, { generateSecret: false })
      const method = created.token_endpoint_auth_method
      if (secret === undefined && method === undefined)
        log.warn({ client: clientId }, 'SEED_FILE: the client has no secret yet')
      return
    } catch (error) {
      // Another process that starts now may have been first.
      if ((await clients.find(clientId)) === null) throw error
      return
    }
  }
  const wanted = parseMetadata(members, clients.extensions()).members
  const same = Object.entries(wanted).every(([name, value]) => isDeepStrictEqual(value, found[name]))
  const sameSecret = typeof secret !== 'string' || (await clients.hasSecret(clientId, secret))
  if (!same || !sameSecret)
    await clients.update(clientId, sameSecret ? members : { ...members, client_secret: secret })
}

async function seedUser(entry: Entry, { users }: SeedTargets): Promise<void> {
  const { username, password, roles, claims } = parseUserMembers(entry)
  if (username === undefined) throw userError('username', 'is missing')
  const found = await users.find(username)
  if (found === null) {
    try {
      await users.create(entry)
      return
    } catch (error) {
      // Another process that starts now may have been first.
      if ((await users.find(username)) === null) throw error
      return
    }
  }
  const same =
    (roles === undefined || isDeepStrictEqual(roles, [...found.roles])) &&
    Object.entries(claims).every(([name, value]) => isDeepStrictEqual(value, found.claims[name] ?? null))
  const samePassword = password === undefined || (await users.hasPassword(username, password))
  const { password: _same, ...members } = entry
  if (!same || !samePassword) await users.update(username, samePassword ? members : entry)
}

function warnUnknown(entry: Entry, known: readonly string[], section: string, log: FastifyBaseLogger): void {
  for (const member of Object.keys(entry)) {
    if (!known.includes(member))
      log.warn({ section, member: member.slice(0, 100) }, 'SEED_FILE: unknown member')
  }
}

/** Two processes may insert the same row at the same time; the second then finds it. */
async function twice(save: () => Promise<void>): Promise<void> {
  try {
    await save()
  } catch (error) {
    if (!isDuplicate(error)) throw error
    await save()
  }
}
