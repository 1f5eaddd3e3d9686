/** `authorization_details` (RFC 9396 §2): from text to details, what two have in common, and one spelling of each. */
import { OAuthError } from './errors.ts'
import { isObject } from './json.ts'
import { parseJsonObject } from './strict-json.ts'

/** One element of `authorization_details`. */
export interface AuthorizationDetail {
  readonly type: string
  readonly [member: string]: unknown
}

const MOST = 20
/** The member that says where it is used (§2.2), of types that have it. */
const LOCATIONS = 'locations'

export function refusedDetails(description: string, cause?: unknown): OAuthError {
  return new OAuthError('invalid_authorization_details', description, { cause })
}

/** Throws `invalid_authorization_details`. */
export function parseDetails(text: string): readonly AuthorizationDetail[] {
  const details = parseList(text)
  if (details.length === 0 || details.length > MOST || !details.every(isDetail))
    throw refusedDetails(`it must be a list of 1 to ${MOST} objects that have a type`)
  // One line on the page that asks people would stand for both.
  if (new Set(details.map(canonical)).size < details.length) throw refusedDetails('a detail is there twice')
  return details
}

/** As a member, since a list is no object: what else stands in the text is found out by its name. */
function parseList(text: string): readonly unknown[] {
  try {
    const { list, ...others } = parseJsonObject(Buffer.from(`{"list":${text}}`))
    if (Array.isArray(list) && Object.keys(others).length === 0) return list
  } catch (error) {
    throw refusedDetails('it is not JSON with each member once', error)
  }
  throw refusedDetails('it must be a list')
}

function isDetail(value: unknown): value is AuthorizationDetail {
  return isObject(value) && typeof value['type'] === 'string'
}

/** Undefined for one that names none: it is good wherever its token is. */
export function locationsOf({ [LOCATIONS]: locations }: AuthorizationDetail): readonly string[] | undefined {
  return Array.isArray(locations) ? locations.map(String) : undefined
}

/** By other names, each once. */
export function withLocations(
  detail: AuthorizationDetail,
  locations: readonly string[],
): AuthorizationDetail {
  return { ...detail, [LOCATIONS]: [...new Set(locations)] }
}

/** What of them is for these resources (§9.1); the same list where all of it is. */
export function detailsAt(
  details: readonly AuthorizationDetail[],
  resources: readonly string[],
): readonly AuthorizationDetail[] {
  const isElsewhere = (one: string): boolean => !resources.includes(one)
  if (!details.some((detail) => locationsOf(detail)?.some(isElsewhere))) return details
  return details.flatMap((detail) => {
    const here = locationsOf(detail)?.filter((one) => !isElsewhere(one))
    if (here === undefined) return [detail]
    return here.length === 0 ? [] : [withLocations(detail, here)]
  })
}

/** The same text for the same content, in whatever order members and lists came. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).toSorted().join()}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join()}}`
}

/** The same members, of lists fewer items and one at least, of all else the same. */
export function isNarrower(less: AuthorizationDetail, approved: AuthorizationDetail): boolean {
  const names = new Set([...Object.keys(less), ...Object.keys(approved)])
  return [...names].every((name) => {
    if (!Object.hasOwn(less, name) || !Object.hasOwn(approved, name)) return false
    const [some, all] = [less[name], approved[name]]
    if (!Array.isArray(some) || !Array.isArray(all)) return canonical(some) === canonical(all)
    const items = new Set(all.map(canonical))
    return (some.length > 0 || all.length === 0) && some.every((one) => items.has(canonical(one)))
  })
}

/**
 * Whether each of them finds one of `approved` for itself alone (§6): what was approved once is not had twice. Who comes later may send
 * an earlier one on to another that covers it, too (a maximum matching, by augmenting paths).
 */
export function eachHasItsOwn(
  details: readonly AuthorizationDetail[],
  approved: readonly AuthorizationDetail[],
  isWithin: (less: AuthorizationDetail, approved: AuthorizationDetail) => boolean,
): boolean {
  const covering = new Map(details.map((one) => [one, approved.filter((other) => isWithin(one, other))]))
  const takenBy = new Map<AuthorizationDetail, AuthorizationDetail>()
  function findsOne(detail: AuthorizationDetail, tried: Set<AuthorizationDetail>): boolean {
    for (const one of covering.get(detail)!) {
      if (tried.has(one)) continue
      tried.add(one)
      const holder = takenBy.get(one)
      if (holder !== undefined && !findsOne(holder, tried)) continue
      takenBy.set(one, detail)
      return true
    }
    return false
  }
  return details.every((one) => findsOne(one, new Set()))
}
