/**
 * What an operator brings in BRAND_DIRECTORY: `style.css`, `assets/`, `templates/`, `languages/`, and `brand.json`, which says for which
 * version of the templates all of it was made. Read once, at the start.
 */
import { extname } from 'node:path'
import { isTag } from '../../../src/protocol/language-tags.ts'
import { isObject } from '../../../src/protocol/json.ts'
import { parseTypedJson } from '../../../src/protocol/typed-pairs.ts'
import type { Catalogue } from '../../../src/services/languages/catalogues.ts'
import { assertCatalogue } from './catalogue.ts'
import { type Folder, openFolder, refusal } from './folder.ts'
import { isReplaceable } from './samples.ts'
import { TEMPLATES_VERSION } from './version.ts'

export interface BrandDirectory {
  /** Null for none. */
  readonly style: string | null
  /** Pictures and fonts, by the names of their files. */
  readonly assets: ReadonlyMap<string, Buffer>
  /** Sources, by the names of ours that they stand in for. */
  readonly templates: ReadonlyMap<string, string>
  /** By their tags. */
  readonly languages: ReadonlyMap<string, readonly Catalogue[]>
  /** What nothing is made of. */
  readonly strays: readonly string[]
}

export const MANIFEST = 'brand.json'
const KNOWN = new Set([MANIFEST, 'style.css', 'assets', 'templates', 'languages'])
/** Bytes. */
const MOST_OF_ASSET = 4 * 1024 * 1024
const ASSET = /^[a-z0-9][a-z0-9-]*\.(?:svg|png|webp|jpe?g|gif|avif|woff2)$/
const ASSETS =
  'names are of small letters, digits and hyphens, and end in .svg, .png, .webp, .jpg, .gif, .avif or .woff2'

export async function readBrandDirectory(path: string): Promise<BrandDirectory> {
  const folder = await openFolder(path)
  await assertVersion(folder)
  return {
    style: await folder.readText('style.css'),
    assets: await readAssets(folder),
    templates: await readTemplates(folder),
    languages: await readLanguages(folder),
    strays: (await folder.names()).filter((name) => !KNOWN.has(name)),
  }
}

async function assertVersion(folder: Folder): Promise<void> {
  const text = await folder.readText(MANIFEST)
  if (text === null) throw refusal(`there is no ${MANIFEST}; latchkey brand init makes one`)
  const manifest = parseJson(MANIFEST, text)
  const version = isObject(manifest) ? manifest['templates'] : undefined
  if (version === TEMPLATES_VERSION) return
  if (!Number.isInteger(version))
    throw refusal(
      `${MANIFEST} must say for which templates it is, such as {"templates": ${TEMPLATES_VERSION}}`,
    )
  throw refusal(
    `it is for version ${String(version)} of the templates, and this server has ${TEMPLATES_VERSION}; docs/brand.md says how to go on`,
  )
}

async function readAssets(folder: Folder): Promise<Map<string, Buffer>> {
  const assets = new Map<string, Buffer>()
  for (const name of await folder.names('assets')) {
    if (extname(name) === '.js')
      throw refusal(`assets/${name} is a script; scripts are a plugin's to add (docs/doors/pages.md)`)
    if (!ASSET.test(name)) throw refusal(`assets/${name} is no picture or font that pages load: ${ASSETS}`)
    assets.set(name, (await folder.read(`assets/${name}`, MOST_OF_ASSET))!)
  }
  return assets
}

async function readTemplates(folder: Folder): Promise<Map<string, string>> {
  const templates = new Map<string, string>()
  for (const file of await folder.names('templates')) {
    const name = file.slice(0, -'.eta'.length)
    if (extname(file) !== '.eta' || !isReplaceable(name))
      throw refusal(`templates/${file} stands in for none of ours; latchkey brand templates lists them`)
    templates.set(name, (await folder.readText(`templates/${file}`))!)
  }
  return templates
}

async function readLanguages(folder: Folder): Promise<Map<string, Catalogue[]>> {
  const languages = new Map<string, Catalogue[]>()
  for (const tag of await folder.names('languages')) {
    if (!isTag(tag)) throw refusal(`languages/${tag} is no language tag such as fr or pt-BR`)
    const catalogues: Catalogue[] = []
    for (const file of await folder.names(`languages/${tag}`)) {
      const name = `languages/${tag}/${file}`
      if (extname(file) !== '.json') throw refusal(`${name} is no .json`)
      const catalogue = parseJson(name, (await folder.readText(name))!)
      assertCatalogue(name, catalogue)
      catalogues.push(catalogue)
    }
    languages.set(tag, catalogues)
  }
  return languages
}

function parseJson(name: string, text: string): unknown {
  const { typed, twice } = parseTypedJson(text)
  if (typed === undefined) throw refusal(`${name} is no JSON`)
  if (twice !== undefined) throw refusal(`${name} has “${twice}” twice in one object: leave one of them`)
  return typed
}
