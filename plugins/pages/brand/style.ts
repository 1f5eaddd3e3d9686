/** A stylesheet of an operator's: what it loads is in `assets/`, and is called by the address at which that is served. */
import { refusal } from './folder.ts'

const COMMENT = /\/\*[^]*?\*\//g
const URLS = /\burl\(\s*(?:"([^"]*)"|'([^']*)'|([^"')\s]*))\s*\)/gi

/** `addresses`: of the assets, by their names. Throws `ConfigError` for what no page would load. */
export function brandStyle(css: string, addresses: Readonly<Record<string, string>>): string {
  const bare = css.replaceAll(COMMENT, ' ')
  if (/@import\b/i.test(bare)) throw refusal('style.css has an @import, which pages load nothing by')
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
