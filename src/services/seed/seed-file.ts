/** SEED_FILE as it is written: its sections, and where in it something stands that is refused. */
import { readFile } from 'node:fs/promises'
import type { FastifyBaseLogger } from 'fastify'
import { ConfigError } from '../../config.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { isObject, parseJson } from '../../protocol/json.ts'
import { memberTwiceIn } from '../../protocol/strict-json.ts'

export type Entry = Readonly<Record<string, unknown>>

/** An entry, and where it stands. */
export interface Placed {
  readonly place: string
  readonly entry: Entry
}

export type Sections = Readonly<Record<(typeof SECTIONS)[number], readonly Placed[]>>

/** What is applied: who reads the log looks for it where it is. */
export type Source =
  | 'SEED_FILE'
  | 'The demo'
  | 'ADMIN_API'
  | 'SCIM'
  | 'GLOBAL_TOKEN_REVOCATION'
  | 'OIDC_ROLES_CLAIM'
  | 'OIDC_SHARED_SIGNALS'

const SECTIONS = [
  'resources',
  'scopes',
  'clients',
  'exchanges',
  'users',
  'upstreams',
  'trusted_issuers',
] as const

/** Throws `ConfigError`. */
export async function readSeedFile(path: string, log: FastifyBaseLogger): Promise<Sections> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new ConfigError(`SEED_FILE ${path} cannot be read (${cause.code}).`)
  })
  const content = parseJson(text)
  if (!isObject(content)) throw new ConfigError(`SEED_FILE ${path} is not a JSON object.`)
  const twice = twiceIn(text)
  if (twice !== undefined) throw new ConfigError(`SEED_FILE ${path} ${twice}.`)
  return sectionsOf(content, `SEED_FILE ${path}`, log)
}

/** Of a file that is JSON, what it has of which only the last would count, as it follows its name; undefined where it has nothing of that kind. */
export function twiceIn(text: string): string | undefined {
  const twice = memberTwiceIn(text)
  if (twice === undefined) return undefined
  return `has ${twice.name.slice(0, 100)} twice in one object, in line ${twice.line}: leave one of them`
}

/** Throws `ConfigError`. `source` is what the content is called. */
export function sectionsOf(content: Entry, source: string, log: FastifyBaseLogger): Sections {
  for (const name of Object.keys(content)) {
    if (!SECTIONS.some((one) => one === name))
      log.warn({ section: name.slice(0, 100) }, 'SEED_FILE: unknown section')
  }
  const sections = SECTIONS.map((section) => {
    const entries = content[section] ?? []
    if (!Array.isArray(entries)) throw new ConfigError(`${source}: ${section} must be a list.`)
    return [section, entries.map((entry: unknown, at) => placed(`${source}: ${section}[${at}]`, entry))]
  })
  return Object.fromEntries(sections) as Sections
}

function placed(place: string, entry: unknown): Placed {
  // A list has no members: what is missing of it is said by its name.
  if (typeof entry !== 'object' || entry === null) throw new ConfigError(`${place}: must be an object.`)
  return { place, entry: entry as Entry }
}

/** Runs `work`; what it refuses is told as one sentence that names the place. */
export function at<T>(place: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw explained(place, error)
  }
}

/** The error with its place, if it is a refusal. */
export function explained(place: string, error: unknown): unknown {
  return error instanceof OAuthError
    ? new ConfigError(`${place}: ${error.message}.`, { cause: error })
    : error
}

export function warnUnknown(members: readonly string[], section: string, log: FastifyBaseLogger): void {
  for (const member of members)
    log.warn({ section, member: member.slice(0, 100) }, 'SEED_FILE: unknown member')
}
