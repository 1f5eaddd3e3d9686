/** Who speaks to their browser says what they see: what a control is called has the words that it shows, in every language (WCAG 2.2, 2.5.3). */
import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'

const TEMPLATES = new URL('../../../templates/', import.meta.url)
/** A control that is called otherwise than it looks: its name, and what it has inside. */
const NAMED =
  /<(a|button|summary)\b[^\n]*? aria-label="<%= t\('((?:[^'\\]|\\.)*)'[^\n]*?\) %>"[^\n]*?>([^\n]*?)<\/\1>/g
const SHOWN = /t\('((?:[^'\\]|\\.)*)'/g

async function wordsOf(tag: string): Promise<Map<string, string>> {
  const folder = new URL(`languages/${tag}/`, TEMPLATES)
  const files = tag === 'en' ? [] : await readdir(folder)
  const read = async (file: string) =>
    Object.entries(JSON.parse(await readFile(new URL(file, folder), 'utf8')) as Record<string, string>)
  return new Map((await Promise.all(files.map(read))).flat())
}

async function controls(): Promise<[file: string, name: string, shown: string][]> {
  const files = (await readdir(TEMPLATES)).filter((file) => file.endsWith('.eta'))
  const read = async (file: string) => {
    const source = await readFile(new URL(file, TEMPLATES), 'utf8')
    return [...source.matchAll(NAMED)].flatMap(([, , name = '', inside = '']) =>
      [...inside.matchAll(SHOWN)].map(([, shown = '']): [string, string, string] => [file, name, shown]),
    )
  }
  return (await Promise.all(files.map(read))).flat()
}

test.each(['en', 'de', 'es'])('in %s', async (tag) => {
  const words = await wordsOf(tag)
  const said = (english: string): string => (words.get(english) ?? english).toLowerCase()
  const all = await controls()
  expect(all.length).toBeGreaterThan(10)
  expect(all.filter(([, name, shown]) => !said(name).includes(said(shown)))).toEqual([])
})
