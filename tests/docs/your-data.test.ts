/** docs/your-data.md, as it stands there. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { startServer } from '../support/server.ts'
import { SEED } from '../support/sign-in.ts'
import { openPage, sitDown } from './page.ts'

test('the setting and the commands of the page do what it says', async () => {
  const page = await openPage('your-data.md')
  const [name = '', days = ''] = page.next('ini').trim().split('=')
  const server = await startServer({ [name]: days }, { seed: SEED })
  expect(kernelOf(server.server).config).toMatchObject({ OIDC_ACCOUNT_DELETION: '30' })
  const { id } = (await server.server.oauth.users.find('alice'))!
  const { deletesAt } = await kernelOf(server.server).accountDeletions.request(id, 30 * 86_400)
  const desk = await sitDown(server.settings)
  const { stdout } = await desk.sh(page.next('sh'))
  page.end()
  const [shown, kept] = stdout.split(/(?=^sub)/m)
  expect(shown).toContain(new Date(deletesAt!).toISOString())
  expect(kept).toContain('alice')
  expect(kept).not.toContain('deletes_at')
  expect((await server.server.oauth.users.get(id)).deletesAt).toBeNull()
})
