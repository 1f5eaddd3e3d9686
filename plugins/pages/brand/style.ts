/** A stylesheet of an operator's: what it loads is in `assets/`, and is called by the address at which that is served. */
import { refusal } from './folder.ts'

const COMMENT = /\/\*[^]*?\*\//g
/** Functions in which a text is an address as well (CSS Images 4 §2.4 and §2.5, CSS Values 5 §4.1). */
const LOADING = /(?:image-set|cross-fade|\bimage|\bsrc)\(/gi
const URLS = /\burl\(\s*(?:"([^"]*)"|'([^']*)'|([^"')\s]*))\s*\)/gi

/** `addresses`: of the assets, by their names. Throws `ConfigError` for what no page would load. */
export function brandStyle(css: string, addresses: Readonly<Record<string, string>>): string {
  const bare = css.replaceAll(COMMENT, ' ')
  if (/@import\b/i.test(bare)) throw refusal('style.css has an @import, which pages load nothing by')
  const text = loadedByText(bare.replaceAll(URLS, ''))
  if (text !== undefined)
    throw refusal(
      `style.css loads ${text} without url(); pages load what is in the folder's assets, as url("assets/name.png")`,
    )
  return bare.replaceAll(URLS, (_all, double?: string, single?: string, plain?: string) => {
    const url = double ?? single ?? plain ?? ''
    if (url.startsWith('#')) return `url("${url}")`
    const [, name = ''] = /^(?:\.\/)?assets\/([^/]+)$/.exec(url) ?? []
    if (!Object.hasOwn(addresses, name))
      throw refusal(
        `style.css loads ${JSON.stringify(url.slice(0, 200))}; pages load what is in the folder's assets, as url("assets/name.woff2")`,
      )
    return `url("${addresses[name]}")`
  })
}

/** The first text that is an address without being in `url()`, as in `image-set("a.png" 1x)`; that of a `type()` is none. */
function loadedByText(css: string): string | undefined {
  const typeless = css.replaceAll(/\btype\([^()]*\)/gi, '')
  for (const { index, 0: opening } of typeless.matchAll(LOADING)) {
    let depth = 1
    for (let at = index + opening.length; at < typeless.length && depth > 0; at++) {
      const one = typeless[at]!
      if (one === '"' || one === "'") return JSON.stringify(typeless.slice(at + 1, at + 201).split(one, 1)[0])
      if (one === '(') depth++
      if (one === ')') depth--
    }
  }
  return undefined
}
