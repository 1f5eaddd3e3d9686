/** docs/upgrade.md: its one command that can be run here; tests/deployment shows what the page promises. */
import { expect, test } from 'vitest'
import { readStages } from '../deployment/containerfile.ts'
import { startServer } from '../support/server.ts'
import { assertReadable, openPage, sitDown } from './page.ts'

test('the schema is brought to the newest by hand, and what is installed is what an image has', async () => {
  const page = await openPage('upgrade.md')
  const [migrate, get] = [page.next('sh'), page.next('sh')]
  page.end()

  const desk = await sitDown((await startServer()).settings)
  expect((await desk.sh(migrate)).stdout).toMatch(/^The newest schema is in /)

  await assertReadable(get)
  const [installation] = (await readStages())[0]!.runs
  expect(get).toContain(installation!.command.replace('npm ci', 'npm --prefix /opt/latchkey ci'))
})
