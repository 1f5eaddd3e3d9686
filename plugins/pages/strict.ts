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

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** The only way into a page: text and numbers, escaped for content and for quoted attributes. */
export function escapeHtml(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new TypeError(`a template prints text and numbers, not ${value === null ? 'null' : typeof value}`)
  return String(value).replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)
}

/** An address that a person may follow: http, https, mailto, or a path of ours; nothing that runs in the page. */
export function linkTo(uri: string): string {
  if (!/^(?:https?:\/\/|mailto:|\/(?!\/))/i.test(uri))
    throw new TypeError('a page links to http, https, mailto or a path only')
  return uri
}

const DATE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })

/** The first full minute that is not before it: whoever comes then does not come too early. */
export function formatTimeBy(time: Date): string {
  return formatTime(new Date(Math.ceil(time.getTime() / 60_000) * 60_000))
}

/** Such as `21 November 2026 at 16:30 UTC`. */
export function formatTime(time: Date): string {
  return `${DATE.format(time)} UTC`
}
