/** The decisions in docs/adr: each has a number of its own, and stands in their table of contents. */
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const folder = resolve(import.meta.dirname, '../../docs/adr')
const files = (await readdir(folder)).filter((name) => name !== 'README.md')

test('no two have one number', () => {
  const numbers = files.map((name) => name.slice(0, 4))
  expect(numbers).toEqual([...new Set(numbers)])
})

test('each begins with its number, and is listed once, under it', async () => {
  const listed = (await readFile(join(folder, 'README.md'), 'utf8')).matchAll(/^\| \[(\d{4})\]\(([^)]+)\) /gm)
  expect([...listed].map(([, number, file]) => [number, file])).toEqual(
    files.toSorted().map((file) => [file.slice(0, 4), file]),
  )
  for (const file of files)
    expect(await readFile(join(folder, file), 'utf8')).toMatch(new RegExp(`^# ${file.slice(0, 4)} — \\S`))
})
