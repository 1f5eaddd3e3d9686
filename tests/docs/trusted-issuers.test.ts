/** docs/trusted-issuers.md, as it stands there: an issuer is registered on the command line, and by SEED_FILE. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { startServer } from '../support/server.ts'
import { JAG_SEED } from '../support/trusted-issuer.ts'
import { openPage, sitDown } from './page.ts'

test('an issuer is registered by either way', async () => {
  const page = await openPage('trusted-issuers.md')
  const [register, section] = [page.next('sh'), page.next('json')]
  page.end()
  const server = await startServer({}, { seed: JAG_SEED })
  const desk = await sitDown(server.settings)
  await desk.sh(register)
  const found = await kernelOf(server.server).trustedIssuers.find('https://login.example')
  expect(found).toMatchObject({ subject: 'email', scopes: ['read_shelf'], clients: ['app'] })

  const content = JSON.parse(section) as { trusted_issuers: object[] }
  const seeded = await startServer({}, { seed: { ...JAG_SEED, ...content } })
  const { trusted_issuers: all } = content
  expect(await kernelOf(seeded.server).trustedIssuers.list()).toEqual(all)
  const wrong = async (entry: object) => startServer({}, { seed: { trusted_issuers: [entry] } })
  await expect(wrong({ issuer: 'https://a.example' })).rejects.toThrow('trusted_issuers[0]: jwks')
}, 120_000)
