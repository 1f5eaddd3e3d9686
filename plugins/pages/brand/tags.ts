/** The tags of a page, as far as our own checks need them: what templates print is escaped, so that a tag is one. */

export interface Tag {
  /** In small letters. */
  readonly name: string
  /** Values are what they mean, without entities; `''` for one without a value. */
  readonly attributes: ReadonlyMap<string, string>
  readonly isEnd: boolean
}

const COMMENT = /<!--[^]*?-->/g
const TAG = /<(\/?)([A-Za-z][A-Za-z0-9-]*)((?:"[^"]*"|'[^']*'|[^>"'])*)>/g
const ATTRIBUTE = /([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

export function tagsOf(html: string): Tag[] {
  return [...html.replaceAll(COMMENT, '').matchAll(TAG)].map(([, end, name = '', rest = '']) => ({
    name: name.toLowerCase(),
    attributes: new Map(
      [...rest.matchAll(ATTRIBUTE)].map(([, key = '', double, single, bare]) => [
        key.toLowerCase(),
        unescaped(double ?? single ?? bare ?? ''),
      ]),
    ),
    isEnd: end === '/',
  }))
}

/** What people read of a page, without its tags. */
export function textIn(html: string): string {
  return unescaped(html.replaceAll(COMMENT, '').replaceAll(TAG, ''))
}

function unescaped(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_all, name: string) => ENTITIES[name]!)
}
