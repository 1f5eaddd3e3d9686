/** docs/extending.md, as it stands there: a folder with the packed package alone, where its plugin compiles; and a server that runs it. */
import { exec } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createEmptyDatabase } from '../support/database.ts'
import { compile, installByPage } from '../support/packages.ts'
import { spawnServer } from '../support/process.ts'
import { openPage, substitute } from './page.ts'

test('a plugin in a folder of its own compiles there, and runs in the server as it is', async () => {
  const page = await openPage('extending.md')
  const [install, options, plugin, start, tests, run] = [
    page.next('sh'),
    page.next('json'),
    page.next('ts'),
    page.next('sh'),
    page.next('ts'),
    page.next('sh'),
  ]
  page.end()

  const folder = await installByPage(install, '/path/to/plugin')
  await writeFile(join(folder, 'tsconfig.json'), options)
  await writeFile(join(folder, 'hello.ts'), plugin)
  await writeFile(join(folder, 'hello.test.ts'), tests)
  await compile(folder)

  const [, PLUGINS] = /PLUGINS=(\S+)/.exec(substitute(start, { '/path/to/plugin': folder }))!
  const server = await spawnServer({ PLUGINS })
  expect(await (await server.get('/hello?name=Ann')).json()).toEqual({ hello: 'Ann' })

  const database = await createEmptyDatabase()
  const [, command] = /^DATABASE_URL=\S+ (.*)$/m.exec(run)!
  const { stdout } = await promisify(exec)(command!, {
    cwd: folder,
    env: { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, DATABASE_URL: database.url },
  })
  expect(stdout).toMatch(/^. pass 2$/m)
})
