/** How a server begins with a folder of an operator's: its templates are tried, its words are said, and the log tells of what is in use. */
import type { Kernel } from '../../../src/services/kernel.ts'
import { createCatalogues } from '../../../src/services/languages/catalogues.ts'
import { compileTemplates, type Site, type Templates } from '../templates.ts'
import type { BrandDirectory } from './directory.ts'
import { createOwnTemplates, type MustShow, type OwnTemplates } from './own-templates.ts'
import type { Notes } from './when-listening.ts'

const FOLDER = new URL('../../../templates/', import.meta.url)
/** Has all that pages say. */
const WHOLE = 'de'
/** Texts that a warning names. */
const NAMED = 3

/** What pages are made of: without a folder, of ours alone. */
export function sourceOf(templates: Templates, site: Site, own: BrandDirectory | null): OwnTemplates {
  const sources = own?.templates ?? new Map<string, string>()
  if (sources.size > 0)
    return createOwnTemplates(templates, compileTemplates(site), { sources, folder: FOLDER })
  return {
    add: (name, { href }, text) => templates.add(name, text, href.startsWith(FOLDER.href) ? 'shown' : 'now'),
    addArea: templates.addArea,
    check: () => [],
  }
}

/** Throws `ConfigError` for a template that lacks something. Before the server is ready, and after every plugin has said its words. */
export async function beginWith(
  own: BrandDirectory,
  source: OwnTemplates,
  { languages, mustShow, notes }: Pick<Kernel, 'languages'> & { mustShow: MustShow; notes: Notes },
): Promise<void> {
  for (const [tag, catalogues] of own.languages)
    for (const catalogue of catalogues) languages.add(tag, catalogue)
  const templates = source.check(await languages.of({ tags: [], zone: null }), mustShow)
  const tags = [...own.languages.keys()]
  const all = [
    own.style === null ? '' : 'style.css',
    counted(own.assets.size, 'asset'),
    templates.length === 0 ? '' : `templates in the place of ours: ${templates.join(', ')}`,
    tags.length === 0 ? '' : `words in ${tags.join(', ')}`,
  ].filter((one) => one !== '')
  notes.info(`BRAND_DIRECTORY: ${all.length === 0 ? 'nothing is in it yet' : all.join('; ')}.`)
  await warnOfUnused(own, languages.tags, notes)
}

async function warnOfUnused(own: BrandDirectory, spoken: readonly string[], notes: Notes): Promise<void> {
  for (const name of own.strays) notes.warn(`BRAND_DIRECTORY: nothing is made of ${JSON.stringify(name)}.`)
  const known = own.languages.size === 0 ? new Map<string, string>() : await createCatalogues().read(WHOLE)
  for (const [tag, catalogues] of own.languages) {
    if (!spoken.includes(tag))
      notes.warn(`BRAND_DIRECTORY: nobody reads languages/${tag} before UI_LOCALES names ${tag}.`)
    const strange = catalogues.flatMap((one) => Object.keys(one)).filter((text) => !known.has(text))
    if (strange.length > 0)
      notes.warn(
        `BRAND_DIRECTORY: languages/${tag} has ${counted(strange.length, 'text')} that no page of ours says: ${strange
          .slice(0, NAMED)
          .map((text) => JSON.stringify(text.slice(0, 80)))
          .join(', ')}.`,
      )
  }
}

function counted(count: number, what: string): string {
  if (count === 0) return ''
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
