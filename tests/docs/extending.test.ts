/** docs/extending.md, as it stands there: a folder with the packed package alone, where its plugin compiles; and a server that runs it. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compile, installByPage } from '../support/packages.ts'
import { spawnServer } from '../support/process.ts'
import { openPage, substitute } from './page.ts'

test('a plugin in a folder of its own compiles there, and runs in the server as it is', async () => {
  const page = await openPage('extending.md')
  const [install, options, plugin, start] = [
    page.next('sh'),
    page.next('json'),
    page.next('ts'),
    page.next('sh'),
  ]
  page.end()

  const folder = await installByPage(install, '/path/to/plugin')
  await writeFile(join(folder, 'tsconfig.json'), options)
  await writeFile(join(folder, 'hello.ts'), plugin)
  await compile(folder)

  const [, PLUGINS] = /PLUGINS=(\S+)/.exec(substitute(start, { '/path/to/plugin': folder }))!
  const server = await spawnServer({ PLUGINS })
  expect(await (await server.get('/hello?name=Ann')).json()).toEqual({ hello: 'Ann' })
}, 180_000)
