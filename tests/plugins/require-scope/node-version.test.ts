/** The Node that @latchkey/require-scope wants: told when it is registered, and not by an app that answers 503. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { assertNodeVersion } from '../../../plugins/require-scope/node-version.ts'
import { temporaryDirectory } from '../../support/cleanup.ts'
import { olderNode } from '../../support/older-node.ts'
import { installStranger, pack, run } from '../../support/packages.ts'

test.each(['22.19.0', '22.20.1', '24.0.0', '26.10.0'])('Node %s will do', (version) => {
  expect(() => assertNodeVersion(version)).not.toThrow()
})

test.each(['22.18.9', '20.19.0', '18.0.0'])('Node %s is refused', (version) => {
  expect(() => assertNodeVersion(version)).toThrow(`needs Node 22.19 or newer, and this is ${version}`)
})

test('it is the version that `engines` names, and the pages', async () => {
  const root = join(import.meta.dirname, '../../..')
  const read = async (file: string) => readFile(join(root, file), 'utf8')
  const manifest = JSON.parse(await read('plugins/require-scope/package.json')) as {
    engines: { node: string }
  }
  expect(manifest.engines.node).toBe('>=22.19')
  expect(await read('plugins/require-scope/README.md')).toContain('Node 22.19 or newer')
  expect(await read('docs/guard-an-api.md')).toContain('Node 22.19 or newer')
})

test.skipIf(olderNode === undefined)('an app on an older Node does not start', async () => {
  const source = await temporaryDirectory()
  const app = `
    import Fastify from 'fastify'
    import requireScope from '@latchkey/require-scope'
    const app = Fastify()
    await app.register(requireScope, { issuer: 'https://login.example.com' })
    console.log('it runs')
    await app.close()
  `
  await writeFile(join(source, 'app.js'), app)
  const packed = await pack('@latchkey/require-scope')
  const folder = await installStranger(source, '@latchkey/require-scope', packed, ['fastify'])
  expect(await run(process.execPath, ['app.js'], folder)).toBe('it runs\n')
  await expect(run(olderNode!, ['app.js'], folder)).rejects.toThrow(
    /needs Node 22\.19 or newer, and this is \d+\./,
  )
})
