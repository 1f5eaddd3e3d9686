/** docs/doors/keys.md: its pieces of code, with the store of a stranger behind them. */
import { execFile } from 'node:child_process'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startCloudKms } from '../support/cloud-kms.ts'
import { installStranger, pack } from '../support/packages.ts'
import { openPage, substitute } from './page.ts'

test('a stranger’s store passes the checks of the package, by the test of the page', async () => {
  const page = await openPage('doors/keys.md')
  const [registers, checks] = [page.next('ts'), page.next('ts')]
  page.end()
  const folder = await installStranger('cloud-kms', 'latchkey', await pack('latchkey'), ['@types/node'])
  const kms = await startCloudKms()
  const own = `import { openKms } from './cloud-kms.ts'
const openStore = (uri: string, issuer: string) => openKms(uri, issuer, ${JSON.stringify(kms.token)})
`
  const at = { 'example-kms://localhost/ring': kms.uri }
  await writeFile(join(folder, 'page.test.ts'), own + substitute(checks, at))
  const { stdout } = await promisify(execFile)(process.execPath, ['--test', 'page.test.ts'], { cwd: folder })
  expect(stdout).toMatch(/pass 9\b[\s\S]*fail 0\b/)
  // What the page registers is what the stranger does.
  await writeFile(join(folder, 'plugin.ts'), `${own}export default function plugin({ oauth }: any): void {\n${registers}\n}`) // prettier-ignore
  await copyFile(join(folder, 'plugin.ts'), join(folder, 'registered.ts'))
  expect(registers).toContain('openStore(uri, issuer)')
})
