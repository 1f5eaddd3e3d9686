/** BRAND_DIRECTORY as far as it can be judged without its server: the templates in it are tried at the start. */
import { readBrandDirectory } from '../../plugins/pages/brand/directory.ts'
import { brandStyle } from '../../plugins/pages/brand/style.ts'
import { ConfigError } from '../config.ts'
import { fail, ok, type Finding } from './finding.ts'

const CHECK = 'brand'

export async function examineBrand(path: string | undefined): Promise<Finding[]> {
  if (path === undefined) return []
  try {
    const { style, assets, templates } = await readBrandDirectory(path)
    brandStyle(style ?? '', Object.fromEntries([...assets.keys()].map((name) => [name, name])))
    const tried = templates.size === 0 ? '' : '; the start tries its templates'
    return [ok(CHECK, `BRAND_DIRECTORY ${path} can be read, and is for this server${tried}.`)]
  } catch (error) {
    if (error instanceof ConfigError) return [fail(CHECK, error.message)]
    throw error
  }
}
