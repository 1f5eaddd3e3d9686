/**
 * The filter that says who of a directory is meant by a user name (RFC 4515), with `{username}` in it. Where that stands is the whole of what
 * is compared, or its end, as in `(proxyAddresses=smtp:{username})`: then an entry can be asked whether it is called so.
 */
import { usernameKey } from './username.ts'

const PLACE = '{username}'
/** A comparison with it: the attribute, by another matching rule where one is named, and what stands before the name. */
const ASSERTION = /\(([A-Za-z][A-Za-z0-9-]*)(?::[A-Za-z0-9.-]+:)?=([^(){}*\\]*)\{username\}\)/g

/** Why it cannot be one, to follow the setting's name; undefined when it can. */
export function userFilterProblem(template: string): string | undefined {
  if (!template.startsWith('(') || !template.endsWith(')'))
    return 'must be in parentheses, such as (uid={username})'
  const places = template.split(PLACE).length - 1
  if (places === 0) return `must name {username}, such as (uid={username})`
  const compared = [...template.matchAll(ASSERTION)].length
  return compared === places
    ? undefined
    : 'must compare with {username} alone, such as (uid={username}), and without a star'
}

/** With this name in it, whatever is in that. */
export function filterFor(template: string, username: string): string {
  return template.replaceAll(PLACE, () => escapeValue(username))
}

/** Whom it would find by any name. */
export function filterForAny(template: string): string {
  return template.replaceAll(ASSERTION, (_whole, attribute: string) => `(${attribute}=*)`)
}

/** The attributes that are compared with the name. */
export function namingAttributes(template: string): string[] {
  return [...new Set([...template.matchAll(ASSERTION)].map(([, attribute]) => attribute!))]
}

/**
 * Whether an entry is called so, as user names are compared here. A directory takes more for equal, as spaces in the middle or letters of
 * another width: then nobody could say under how many names somebody's password is guessed at.
 */
export function isCalled(
  template: string,
  username: string,
  valuesOf: (attribute: string) => readonly string[],
): boolean {
  const key = usernameKey(username)
  if (key === null) return false
  return [...template.matchAll(ASSERTION)].some(([, attribute, before]) =>
    valuesOf(attribute!).some((value) => {
      const isSo = value.toLowerCase().startsWith(before!.toLowerCase())
      return isSo && usernameKey(value.slice(before!.length)) === key
    }),
  )
}

/** RFC 4515 §3: what would be part of the filter. All else stands for itself, in UTF-8. */
export function escapeValue(value: string): string {
  return value.replaceAll(/[\0()*\\]/g, (letter) => `\\${letter.charCodeAt(0).toString(16).padStart(2, '0')}`)
}
