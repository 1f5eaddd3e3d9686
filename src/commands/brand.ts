/** `brand init`, `brand templates` and `brand template`: a folder for BRAND_DIRECTORY, and what of ours may be copied into it. */
import { Command } from 'commander'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MANIFEST } from '../../plugins/pages/brand/directory.ts'
import { isReplaceable, REPLACEABLE } from '../../plugins/pages/brand/samples.ts'
import { TEMPLATES_VERSION } from '../../plugins/pages/brand/version.ts'
import { ConfigError } from '../config.ts'
import { withJson } from './json-option.ts'
import { print } from './run.ts'

interface Options {
  json?: boolean
}

const FOLDER = new URL('../../templates/', import.meta.url)

export function brandCommand(): Command {
  const command = new Command('brand').description('a folder with a look of your own, for BRAND_DIRECTORY')
  withJson(command.command('init <folder>').description('begin one, for the templates of this version')).action(
    async (folder: string, { json }: Options) => {
      const file = join(folder, MANIFEST)
      await mkdir(folder, { recursive: true })
      await writeNew(file, `${JSON.stringify({ templates: TEMPLATES_VERSION })}\n`)
      print({ file, templates: TEMPLATES_VERSION }, [`${file} is there. Now set BRAND_DIRECTORY=${folder}`], json)
    },
  )
  withJson(command.command('templates').description('those of ours that one of yours may stand in for')).action(
    ({ json }: Options) => print(REPLACEABLE, REPLACEABLE, json),
  )
  withJson(command.command('template <name> <folder>').description('copy one of ours there, to be changed')).action(
    async (name: string, folder: string, { json }: Options) => {
      if (!isReplaceable(name))
        throw new ConfigError(`There is no template ${JSON.stringify(name.slice(0, 80))} to copy: there are ${REPLACEABLE.join(', ')}.`)
      const file = join(folder, 'templates', `${name}.eta`)
      await mkdir(join(folder, 'templates'), { recursive: true })
      await writeNew(file, await readFile(new URL(`${name}.eta`, FOLDER), 'utf8'))
      print({ file, template: name }, [`${file} stands in for ours from the next start on.`], json)
    },
  )
  return command
} // prettier-ignore

/** What somebody has made there stays. */
async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw new ConfigError(`${file} is there already.`)
    throw error
  }
}
