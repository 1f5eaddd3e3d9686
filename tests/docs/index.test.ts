/** docs/ as a whole: every page is found, every link leads somewhere, and some test reads every page with code in it. */
import { access, readFile, readdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { checkout } from './page.ts'

const docs = join(checkout, 'docs')
const inside = async (folder: string) => (await readdir(join(docs, folder))).map((name) => join(folder, name))
const pages = [...(await inside('.')), ...(await inside('doors'))].filter((name) => name.endsWith('.md'))

/** Where links of a page lead, without those to other sites. */
async function linksOf(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8')
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^https?:/.test(link))
}

/** The anchors of its headings, as the usual sites make them. */
async function anchorsOf(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8')
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('the index names every page', async () => {
  const links = await linksOf(join(docs, 'README.md'))
  expect(pages.filter((name) => name !== 'README.md' && !links.includes(name))).toEqual([])
})

async function leadsSomewhere(link: string, from: string): Promise<boolean> {
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? from : resolve(dirname(from), file)
  const exists = await access(target).then(
    () => true,
    () => false,
  )
  return exists && (anchor === undefined || (await anchorsOf(target)).includes(anchor))
}

test.each(['../README.md', ...pages])('every link of %s leads somewhere', async (name) => {
  const path = join(docs, name)
  const dead: string[] = []
  for (const link of await linksOf(path)) if (!(await leadsSomewhere(link, path))) dead.push(link)
  expect(dead).toEqual([])
})

test('a page with code in it is read by a test', async () => {
  const withCode: string[] = []
  for (const name of pages) if (/^```/m.test(await readFile(join(docs, name), 'utf8'))) withCode.push(name)
  const tests = (await readdir(join(checkout, 'tests'), { recursive: true })).filter((name) =>
    name.endsWith('.test.ts'),
  )
  const texts = await Promise.all(tests.map(async (name) => readFile(join(checkout, 'tests', name), 'utf8')))
  const unread = withCode.filter(
    (name) => !texts.some((text) => text.includes(`openPage('${name}')`) || text.includes(`docs/${name}`)),
  )
  expect(unread).toEqual([])
})
