/**
 * What the server says, in each language: `templates/languages/<tag>/*.json` maps the English of a message to it, a file for each room of
 * pages. Read when the first page is shown in it.
 */
import { readdir, readFile } from 'node:fs/promises'
import { isTag } from '../../protocol/language-tags.ts'

/** English to another language, both in ICU MessageFormat. */
export type Catalogue = Readonly<Record<string, string>>

export interface Catalogues {
  /** The tags of those that there are, whoever brought them, without English. */
  tags(): Promise<readonly string[]>
  /** Its messages by their English. */
  read(tag: string): Promise<ReadonlyMap<string, string>>
  /** What comes later counts. */
  add(tag: string, messages: Catalogue): void
}

const DIRECTORY = new URL('../../../templates/languages/', import.meta.url)

export function createCatalogues(): Catalogues {
  const loading = new Map<string, Promise<ReadonlyMap<string, string>>>()
  const added: { tag: string; messages: Catalogue }[] = []

  const inDirectory = async (): Promise<string[]> => (await readdir(DIRECTORY)).filter(isTag)

  async function load(tag: string): Promise<ReadonlyMap<string, string>> {
    const ours = (await inDirectory()).includes(tag) ? await readFolder(new URL(`${tag}/`, DIRECTORY)) : []
    const more = added.filter((one) => one.tag === tag).map(({ messages }) => messages)
    return new Map([...ours, ...more].flatMap((messages) => Object.entries(messages)))
  }

  return {
    tags: async () => [...new Set([...(await inDirectory()), ...added.map(({ tag }) => tag)])],
    async read(tag) {
      const known = loading.get(tag) ?? load(tag)
      loading.set(tag, known)
      return known
    },
    add(tag, messages) {
      added.push({ tag, messages })
      loading.delete(tag)
    },
  }
}

async function readFolder(folder: URL): Promise<Catalogue[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).toSorted()
  return Promise.all(
    names.map(async (name) => JSON.parse(await readFile(new URL(name, folder), 'utf8')) as Catalogue),
  )
}
