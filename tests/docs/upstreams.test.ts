/** docs/upstreams.md: every command as it stands there, and the file. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { startServer } from '../support/server.ts'
import { openPage, sitDown, substitute } from './page.ts'

test('its commands register what they say, and its file does too', async () => {
  const page = await openPage('upstreams.md')
  const [create, file, google, microsoft] = [
    page.next('sh'),
    page.next('json'),
    page.next('sh'),
    page.next('sh'),
  ]
  page.end()
  const server = await startServer()
  const desk = await sitDown(server.settings)
  expect((await desk.sh(create)).stdout).toContain('corp  https://login.corp.example  Corp')
  await desk.sh(google)
  await desk.sh(substitute(microsoft, { TENANT: '00000000-0000-4000-8000-000000000000' }))
  const { upstreams } = kernelOf(server.server)
  expect(await upstreams.find('microsoft')).toMatchObject({
    issuer: 'https://login.microsoftonline.com/00000000-0000-4000-8000-000000000000/v2.0',
    claims: { email_verified: 'xms_edov' },
    trust_email: true,
  })
  await expect
    .poll(async () => (await upstreams.all()).map(({ id }) => id))
    .toEqual(['corp', 'google', 'microsoft'])
  const seeded = await startServer({}, { seed: JSON.parse(file) as object })
  expect(await kernelOf(seeded.server).upstreams.find('corp')).toMatchObject({
    domains: ['corp.example'],
    trust_email: true,
  })
}, 120_000)
