/**
 * The folder that BRAND_DIRECTORY names, read with care: nothing outside of it, nothing that is no plain file, nothing large. Throws
 * `ConfigError` in a sentence.
 */
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import { ConfigError } from '../../../src/config.ts'

export interface Folder {
  /** Names of what is in it, or in a folder of it; none where that is not there. Hidden ones are left out. */
  names(folder?: string): Promise<readonly string[]>
  /** Null where there is none. `most` bytes. */
  read(file: string, most: number): Promise<Buffer | null>
  /** The same, of UTF-8. */
  readText(file: string): Promise<string | null>
}

/** Bytes. */
const MOST_TEXT = 512 * 1024
/** Names in one folder. */
const MOST_NAMES = 500

export function refusal(what: string, options?: ErrorOptions): ConfigError {
  return new ConfigError(`BRAND_DIRECTORY: ${what}.`, options)
}

export async function openFolder(path: string): Promise<Folder> {
  const root = await realpath(resolve(path)).catch(() => null)
  if (root === null || !(await stat(root)).isDirectory())
    throw new ConfigError(`BRAND_DIRECTORY must be a folder; it is ${JSON.stringify(path.slice(0, 200))}.`)

  /** Where it really lies: links within the folder are followed, as container platforms mount files by them. */
  async function placeOf(name: string): Promise<string | null> {
    let place: string
    try {
      place = await realpath(join(root!, name))
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw refusal(`${name} cannot be read`, { cause })
    }
    if (!place.startsWith(root + sep)) throw refusal(`${name} is a link that leads out of the folder`)
    return place
  }

  const read: Folder['read'] = async (name, most) => {
    const place = await placeOf(name)
    if (place === null) return null
    const found = await stat(place)
    if (!found.isFile()) throw refusal(`${name} is no file`)
    if (found.size > most) throw refusal(`${name} is larger than ${most / 1024} KiB`)
    try {
      return await readFile(place)
    } catch (cause) {
      throw refusal(`${name} cannot be read`, { cause })
    }
  }

  return {
    async names(folder = '.') {
      const place = folder === '.' ? root : await placeOf(folder)
      if (place === null) return []
      if (!(await stat(place)).isDirectory()) throw refusal(`${folder} is no folder`)
      const names = (await readdir(place)).filter((name) => !name.startsWith('.')).toSorted()
      if (names.length > MOST_NAMES) throw refusal(`${folder} has more than ${MOST_NAMES} files`)
      return names
    },
    read,
    async readText(name) {
      const bytes = await read(name, MOST_TEXT)
      if (bytes === null) return null
      try {
        return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
      } catch (cause) {
        throw refusal(`${name} is no text in UTF-8`, { cause })
      }
    },
  }
}
