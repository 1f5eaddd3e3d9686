/** One entry of WEBHOOKS: an address, the secrets by which what it is told is signed, and what it is told of. */
import { createHash } from 'node:crypto'
import { OWN_EVENTS, type EventType } from '../events.ts'

export interface Webhook {
  readonly url: string
  /** What it is called at every place but here: its host, and what tells it from others there. Not a secret, even where one is in the address. */
  readonly name: string
  /** The address for people: without its query, and of what may be a secret in its path the beginning alone. */
  readonly shown: string
  /** The keys of `whsec_…`, the newest first: what is sent is signed by each. */
  readonly secrets: readonly Buffer[]
  readonly types: readonly EventType[]
  /** The same as they stand in the setting: names, and beginnings with a star. */
  readonly asked: readonly string[]
}

const MARK = 'whsec_'
/** Bytes of a key, as Standard Webhooks has them. */
const [SHORTEST, LONGEST] = [24, 64]
const LONGEST_ADDRESS = 2000

const UNTOLD: ReadonlySet<string> = new Set(['token.issued', 'limit.reached', 'webhook.tested'])

/** What strangers could have us tell as often as they like, and what comes with every token, or with a test: for the audit log alone. */
function isUntold(type: string): boolean {
  return /(?:_failed|_refused)$/.test(type) || UNTOLD.has(type)
}

/** Reads an entry; what is wrong with one is a text that quotes neither secret nor address, in which there may be one. */
export function parseWebhook(entry: string): Webhook | string {
  const [url = '', ...words] = entry.trim().split(/\s+/)
  const secrets = words.filter((word) => word.startsWith(MARK))
  const names = words.filter((word) => !word.startsWith(MARK))
  const keys = secrets.flatMap((secret) => keyOf(secret) ?? [])
  if (!isAddress(url)) return 'must begin with an address such as https://app.example.com/hooks'
  if (keys.length === 0 || keys.length < secrets.length)
    return `needs a secret: ${MARK} and ${SHORTEST} to ${LONGEST} bytes in base64`
  if (names.length === 0) return 'names no events, such as user.*'
  const types: EventType[] = []
  for (const name of names) {
    const told = typesOf(name)
    if (typeof told === 'string') return told
    types.push(...told)
  }
  return {
    url,
    name: nameOf(url),
    shown: shownOf(url),
    secrets: keys,
    types: [...new Set(types)],
    asked: names,
  }
}

function nameOf(url: string): string {
  const digest = createHash('sha256').update(url).digest('hex')
  return `${new URL(url).hostname}-${digest.slice(0, 10)}`
}

/** Parts of a path that are as long as this are taken for a secret. */
const LONG = 20

function shownOf(url: string): string {
  const { origin, pathname, search } = new URL(url)
  const path = pathname
    .split('/')
    .map((part) => (part.length < LONG ? part : `${part.slice(0, 4)}…`))
    .join('/')
  return `${origin}${path}${search === '' ? '' : '?…'}`
}

function isAddress(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || text.length > LONGEST_ADDRESS) return false
  return /^https?:$/.test(url.protocol) && url.username + url.password + url.hash === ''
}

/** In the one form of RFC 4648 §4: what lacks its end, some libraries read and others refuse. */
function keyOf(secret: string): Buffer | undefined {
  const encoded = secret.slice(MARK.length)
  const key = Buffer.from(encoded, 'base64')
  const isWhole = key.toString('base64') === encoded
  return isWhole && key.length >= SHORTEST && key.length <= LONGEST ? key : undefined
}

/** All, all whose name begins so, or the one; or why not. What does not look like a name may be a secret, and is not quoted. */
function typesOf(name: string): readonly EventType[] | string {
  if (!/^(?:\*|[a-z_]+\.(?:[a-z_.]+\*?|\*))$/.test(name))
    return 'names what is no event, such as user.registered or user.*'
  const shown = name.slice(0, 60)
  if (name.endsWith('*')) {
    const beginning = name.slice(0, -1)
    const found = Object.keys(OWN_EVENTS).filter((type) => type.startsWith(beginning) && !isUntold(type))
    return found.length > 0 ? (found as EventType[]) : `names ${shown}, and there are no such events to tell`
  }
  if (isUntold(name)) return `names ${shown}, which is told by the audit log alone`
  const type = name as EventType
  return [type]
}
