/** Members of a record that operators keep by hand, in SEED_FILE, on the command line or on the pages: each read for itself, and laid over what was there. */
import { metadataError, OAuthError } from './errors.ts'
import { isStorable } from './json.ts'
import { reason } from './message.ts'

/** Brings the value of a member to its one form. Throws `invalid_client_metadata` that names it. */
export type ReadMember = (value: unknown) => unknown

/** What each reads. All of them are asked: what the first refuses is thrown, and what others refuse is `also` in it. */
export function readEach<Readers extends Readonly<Record<string, () => unknown>>>(
  readers: Readers,
): { [Name in keyof Readers]: ReturnType<Readers[Name]> } {
  const refused: OAuthError[] = []
  const read = Object.entries(readers).map(([name, reader]) => {
    try {
      return [name, reader()] as const
    } catch (error) {
      if (!(error instanceof OAuthError) || error.about === undefined) throw error
      refused.push(error)
      return [name, undefined] as const
    }
  })
  const [first, ...more] = refused
  if (first === undefined)
    return Object.fromEntries(read) as { [Name in keyof Readers]: ReturnType<Readers[Name]> }
  const { code, message, status, about } = first
  const others = more.flatMap((error) => [error.about!, ...(error.also ?? [])])
  throw new OAuthError(code, message, { status, about: about!, also: [...(first.also ?? []), ...others] })
}

/** What is said, by the reader of each; null stays null. `unknown` are names that have none. */
export function readMembers<Member extends string>(
  readers: Readonly<Record<Member, ReadMember>>,
  said: Readonly<Record<string, unknown>>,
): { members: Partial<Record<Member, unknown>>; unknown: string[] } {
  const names = Object.keys(said).filter((name) => said[name] !== undefined)
  const known = names.filter((name): name is Member => Object.hasOwn(readers, name))
  const members = known.map(
    (name) => [name, () => (said[name] === null ? null : readers[name](said[name]))] as const,
  )
  return {
    members: readEach(Object.fromEntries(members)) as Partial<Record<Member, unknown>>,
    unknown: names.filter((name) => !Object.hasOwn(readers, name)),
  }
}

/** Each of `names`: as it is laid, else as it was; null where nothing is said. */
export function layMembers<Member extends string>(
  names: readonly Member[],
  before: Readonly<Partial<Record<Member, unknown>>> | undefined,
  laid: Readonly<Partial<Record<Member, unknown>>>,
): Record<Member, unknown> {
  const entries = names.map((name) => [
    name,
    laid[name] === undefined ? (before?.[name] ?? null) : laid[name],
  ])
  return Object.fromEntries(entries) as Record<Member, unknown>
}

/** Those of which something is said. */
export function saidMembers<Member extends string>(
  names: readonly Member[],
  stored: Readonly<Record<Member, unknown>>,
): Partial<Record<Member, unknown>> {
  const said = names.map((name) => [name, stored[name]] as const).filter(([, value]) => value !== null)
  return Object.fromEntries(said) as Partial<Record<Member, unknown>>
}

export function readText(member: string, value: unknown, most: number): string {
  if (typeof value === 'string' && value !== '' && value.length <= most && isStorable(value)) return value
  if (value === '' || value === null || value === undefined)
    throw metadataError(member, reason('must not be empty'))
  throw metadataError(
    member,
    reason('must be a text of 1 to {most} characters, without NUL or broken Unicode', { most }),
  )
}

/** Also as it is typed. */
export function readBoolean(member: string, value: unknown): boolean {
  if (value === true || value === 'true') return true
  if (value === false || value === 'false') return false
  throw metadataError(member, reason('must be true or false'))
}

export function readOneOf(member: string, value: unknown, among: readonly string[]): string {
  if (typeof value === 'string' && among.includes(value)) return value
  throw metadataError(member, reason('must be one of {names}', { names: among }))
}
