/** Whose service it is, on every page: its name, logo, colour and links by the settings `BRAND_*`, and its own sheet and pictures. */
import { readFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { ConfigError, type Config } from '../../src/config.ts'
import { colorCaution } from '../../src/protocol/brand-colors.ts'
import { inEnglish, message, type Message } from '../../src/protocol/message.ts'
import type { Assets } from './assets.ts'
import type { BrandDirectory } from './brand/directory.ts'
import { brandStyle } from './brand/style.ts'
import type { Notes } from './brand/when-listening.ts'
import { policySource } from './headers.ts'
import { themeOf } from './theme.ts'

export interface Brand {
  name: string
  /** The address of its picture. */
  logo: string
  /** For the foot of each page. */
  links: readonly { id: string; href: string; text: Message }[]
  /** The address of a stylesheet after ours; null for the look as it is. */
  theme: string | null
  /** The address of the operator's own stylesheet; null for none. */
  style: string | null
  /** Where the operator's own pictures and fonts are, by the names of their files. */
  assets: Readonly<Record<string, string>>
}

/** Throws `ConfigError` for a logo that cannot be read. */
export async function createBrand(
  config: Config,
  notes: Notes,
  assets: Assets,
  own: BrandDirectory | null,
): Promise<Brand> {
  const ownAssets = addAssets(own, assets)
  return {
    name: config.BRAND_NAME,
    logo: await logoOf(config, assets),
    links: linksOf(config),
    theme: config.BRAND_COLOR === undefined ? null : addTheme(config.BRAND_COLOR, assets, notes),
    style: own?.style == null ? null : addStyle(own.style, ownAssets, assets),
    assets: ownAssets,
  }
}

async function logoOf({ BRAND_LOGO: logo }: Config, assets: Assets): Promise<string> {
  if (logo === undefined) return assets.addresses['mark.svg']!
  if (/^https?:/i.test(logo)) {
    if (/^https?:\/\//i.test(logo) && policySource(logo) !== null) return logo
    throw new ConfigError(`BRAND_LOGO must be a file, or an https address that pages can load; it is ${JSON.stringify(logo.slice(0, 80))}.`) // prettier-ignore
  }
  try {
    return assets.addContent(`brand-logo${extname(logo).toLowerCase()}`, await readFile(resolve(logo)))
  } catch (cause) {
    const why = cause instanceof ConfigError ? 'is no picture that pages show' : 'cannot be read'
    throw new ConfigError(`BRAND_LOGO ${why}: ${JSON.stringify(logo.slice(0, 80))}. Name a file that ends in .svg, .png, .webp or .jpg.`, { cause }) // prettier-ignore
  }
}

function linksOf({ BRAND_SUPPORT_URL, BRAND_POLICY_URL, BRAND_TERMS_URL }: Config): Brand['links'] {
  const all = [
    ['brand-support', BRAND_SUPPORT_URL, message('Get help')],
    ['brand-policy', BRAND_POLICY_URL, message('Privacy policy')],
    ['brand-terms', BRAND_TERMS_URL, message('Terms of service')],
  ] as const
  return all.flatMap(([id, href, text]) => (href === undefined ? [] : [{ id, href, text }]))
}

function addTheme(color: string, assets: Assets, notes: Notes): string {
  const caution = colorCaution(color)
  if (caution !== undefined) notes.warn(`BRAND_COLOR ${inEnglish(caution)}`)
  return assets.addContent('brand.css', Buffer.from(themeOf(color)))
}

function addAssets(own: BrandDirectory | null, assets: Assets): Record<string, string> {
  const added = [...(own?.assets ?? [])].map(([name, content]) => [
    name,
    assets.addContent(`own-${name}`, content),
  ])
  return Object.fromEntries(added) as Record<string, string>
}

function addStyle(css: string, own: Readonly<Record<string, string>>, assets: Assets): string {
  return assets.addContent('own.css', Buffer.from(brandStyle(css, own)))
}
