/** What makes a template fail instead of printing "undefined": models without gaps, and output that is text. */

/** A view of `value` whose missing members throw `TypeError`; `path` is how the message calls it. */
export function strict<T>(value: T, path: string): T {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  // Of a copy: a proxy of a frozen object may only answer with what is in it.
  const members: object = Array.isArray(value) ? [...(value as unknown[])] : { ...value }
  return new Proxy(members, {
    get(target, name) {
      if (typeof name === 'symbol') return Reflect.get(target, name) as unknown
      const known = Array.isArray(target) || Object.hasOwn(target, name)
      const member: unknown = known ? Reflect.get(target, name) : undefined
      if (member === undefined) throw new TypeError(`${path}.${name} is missing`)
      return strict(member, `${path}.${name}`)
    },
  }) as T
}

/** An address that a person may follow: http, https, mailto, or a path of ours; nothing that runs in the page. */
export function linkTo(uri: string): string {
  if (!/^(?:https?:\/\/|mailto:|\/(?!\/))/i.test(uri))
    throw new TypeError('a page links to http, https, mailto or a path only')
  return uri
}

/** The first full minute that is not before it: whoever comes then does not come too early. */
export function fullMinuteFrom(time: Date): Date {
  return new Date(Math.ceil(time.getTime() / 60_000) * 60_000)
}
