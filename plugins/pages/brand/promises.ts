/**
 * What others rely on in a page, as it is printed: its forms, with what they send; the ids that people's tools find things by; the scripts
 * without which it does nothing. A template that stands in for one of ours keeps all of it.
 */
import { tagsOf, type Tag } from './tags.ts'

/** Elements that are neither forms nor fields, and are found by their ids. */
const IDS = new Set([
  'client-logo',
  'client-policy',
  'client-tos',
  'login-error',
  'login-wait',
  'forgot-password',
  'sign-up',
  'error',
  'error-code',
  'signed-out',
  'go-on',
  'signed-in-as',
  'factor-error',
  'another-way',
  'totp-secret',
  'recovery-codes',
])
/** Ids of ours that were called otherwise: a template that has the former one goes on. */
const FORMER: ReadonlyMap<string, string> = new Map([
  ['sign-up-confirm', 'confirm'],
  ['confirm-sign-up', 'confirm-link'],
])
/** Forms that came later, without which a page only has fewer ways out. */
const WAYS_OUT = new Set(['switch-account', 'leave'])
const FIELDS = new Set(['input', 'select', 'textarea', 'button'])
/** Of an input: what a browser does with it, and not merely how it looks. */
const KINDS = new Set(['hidden', 'password', 'checkbox', 'radio', 'file'])
const ADDRESSES = new Set(['href', 'action', 'formaction', 'src'])
/** Without others, a page is less comfortable. */
const SCRIPTS = new Set(['once', 'submit', 'go-on', 'passkey-sign-in'])

/** Each as it is compared, with how people call it. */
export type Promises = ReadonlyMap<string, string>

export function promisesOf(html: string): Promises {
  const promises = new Map<string, string>()
  const add = (key: readonly (string | undefined)[], words: string) =>
    promises.set(JSON.stringify(key), words)
  let form: string | undefined
  let isLeftOut = false
  for (const tag of tagsOf(html).map(byPresentId)) {
    const { name, attributes, isEnd } = tag
    const id = attributes.get('id')
    if (name === 'form') {
      form = isEnd ? undefined : formOf(tag)
      isLeftOut = !isEnd && WAYS_OUT.has(id ?? '')
    }
    if (isEnd || isLeftOut) continue
    if (name === 'form')
      add([name, id, attributes.get('method')?.toLowerCase(), attributes.get('action'), dataOf(tag)], `${form} with its method, action and data`) // prettier-ignore
    else if (FIELDS.has(name)) {
      const owner = attributes.has('form') ? `form#${attributes.get('form')}` : (form ?? 'no form')
      const [key, words] = fieldOf(tag)
      add([owner, ...key, dataOf(tag)], `${words} in ${owner}`)
    } else if (id !== undefined && IDS.has(id)) add(['id', id], `element with the id ${id}`)
    const script = name === 'script' ? scriptOf(tag) : undefined
    if (script !== undefined && SCRIPTS.has(script)) add([name, script, dataOf(tag)], `script ${script}.js`)
  }
  return promises
}

function byPresentId(tag: Tag): Tag {
  const id = FORMER.get(tag.attributes.get('id') ?? '')
  return id === undefined ? tag : { ...tag, attributes: new Map([...tag.attributes, ['id', id]]) }
}

/** An id is there once: one that is there more often. */
export function repeatedId(html: string): string | undefined {
  const seen = new Set<string>()
  return tagsOf(html)
    .filter(({ isEnd }) => !isEnd)
    .map(({ attributes }) => attributes.get('id'))
    .find((id) => id !== undefined && seen.size === seen.add(id).size)
}

/** What the policy of pages forbids, so that it would do nothing; undefined for none. */
export function forbiddenIn(html: string): string | undefined {
  for (const { name, attributes, isEnd } of tagsOf(html)) {
    if (isEnd) continue
    if (name === 'style' || (name === 'script' && !attributes.has('src'))) return `a <${name}> of its own`
    const runs = [...attributes].find(
      ([key, value]) =>
        key === 'style' || key.startsWith('on') || (ADDRESSES.has(key) && /^\s*javascript:/i.test(value)),
    )
    if (runs !== undefined) return `${runs[0]}="…" at a <${name}>`
    const isSheet = name === 'link' && attributes.get('rel') === 'stylesheet'
    const loaded = isSheet ? attributes.get('href') : name === 'script' ? attributes.get('src') : ''
    if (/^(?:[a-z]+:|\/\/)/i.test(loaded ?? '')) return `a <${name}> of another origin`
  }
  return undefined
}

function formOf({ attributes }: Tag): string {
  return attributes.has('id') ? `form#${attributes.get('id')}` : 'a form'
}

/** A field is the same by its id, name and kind; what is hidden, and a button, also by its value. */
function fieldOf({ name, attributes }: Tag): [key: (string | undefined)[], words: string] {
  const [id, own, value] = ['id', 'name', 'value'].map((one) => attributes.get(one))
  const type = attributes.get('type')?.toLowerCase() ?? (name === 'button' ? 'submit' : 'text')
  const kind = name === 'input' && !KINDS.has(type) ? '' : type
  const isFixed = name === 'button' || kind === 'hidden' || kind === 'checkbox'
  const given = [
    own === undefined ? '' : `[name="${own}"]`,
    kind === '' || type === 'submit' ? '' : `[type="${kind}"]`,
  ]
  const words = `${name}${id === undefined ? '' : `#${id}`}${given.join('')}${kind === 'hidden' ? ' with its value' : ''}`
  return [[name, id, own, kind, isFixed ? value : undefined], words]
}

/** What scripts of ours read: what it is called, since a text there may be in other words. */
function dataOf({ attributes }: Tag): string {
  return [...attributes.keys()]
    .filter((key) => key.startsWith('data-'))
    .toSorted()
    .join(' ')
}

/** Its name without the hash of its address. */
function scriptOf({ attributes }: Tag): string | undefined {
  return /\/assets\/([a-z-]+)\.[^/]*$/.exec(attributes.get('src') ?? '')?.[1]
}
