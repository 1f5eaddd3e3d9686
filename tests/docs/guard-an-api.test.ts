/** docs/guard-an-api.md, as it stands there: the API is an app of its own, with the package as npm would bring it. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startApi } from '../support/foreign-api.ts'
import { installByPage } from '../support/packages.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { checkout, openPage, sitDown, substitute } from './page.ts'

test('the API lets in who has the scope, and tells the others what it wants', async () => {
  const page = await openPage('guard-an-api.md')
  const [place, seed, install] = [page.next('sh'), page.next('json'), page.next('sh')]
  const [app, calls] = [page.next('js'), page.next('sh')]
  const [start, asks] = [page.next('sh'), page.next('sh')]
  page.end()

  const server = await startServer({}, { seed: JSON.parse(seed) as object })
  const [folder, port] = [await installByPage(install, '/path/to/books'), String(await freePort())]
  const program = substitute(app, { 'https://login.example.com': server.url, '8080': port })
  await writeFile(join(folder, 'books.js'), program)
  await startApi(folder, 'books.js', {})

  const desk = await sitDown(server.settings)
  const block = substitute(calls, {
    'https://login.example.com': server.url,
    'localhost:8080': `127.0.0.1:${port}`,
  })
  const [granted, refused] = (await desk.sh(block)).stdout.trim().split('\n')
  expect(granted).toBe('{"reader":"reports","books":["The Trial"]} 200')
  expect(refused).toMatch(/ 401$/)

  // As somebody does who has just tried the demo, with the settings of the page's own start.
  const [, name = '', value = ''] = /^(\w+)=(\w+) npm start\n$/.exec(start) ?? []
  const other = await startServer({ [name]: value }, { seed: 'demo' })
  await (await sitDown(other.settings)).sh(place)
  const [here, there] = [server.server.oauth, other.server.oauth]
  expect(await there.resources.listResources()).toEqual(await here.resources.listResources())
  expect(await there.resources.findScope('list_books')).toEqual(await here.resources.findScope('list_books'))
  expect(await there.clients.find('reports')).toMatchObject({ scope: ['list_books'] })

  // One that hides what clients got for themselves, and one that was told not to.
  const told = async ({ url, settings }: typeof server): Promise<string> => {
    const blocks = [calls.split('\n').slice(0, 2).join('\n'), asks].map((one) =>
      substitute(one, { 'https://login.example.com': url }),
    )
    const { stdout } = await (await sitDown(settings)).sh(blocks.join('\n'))
    return stdout.slice(stdout.lastIndexOf('\n{') + 1 || stdout.lastIndexOf('{'))
  }
  expect(await told(server)).toBe('{"active":false}')
  const text = await readFile(join(checkout, 'docs/guard-an-api.md'), 'utf8')
  const [, beginning = ''] = /The answer begins with `([^`]+)`/.exec(text) ?? []
  expect(beginning).not.toBe('')
  expect((await told(other)).slice(0, beginning.length)).toBe(beginning)
})
