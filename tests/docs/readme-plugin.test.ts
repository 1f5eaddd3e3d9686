/** The plugin in README.md: it runs as it stands there. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { checkout } from './page.ts'

test('the grant of the README gives a token for a voucher, once', async () => {
  const readme = await readFile(join(checkout, 'README.md'), 'utf8')
  const [, code] = /^```(?:js|ts)\n(import [^`]*voucherGrant[^`]*)^```$/m.exec(readme) ?? []
  const file = join(await temporaryDirectory(), 'voucher-grant.js')
  await writeFile(file, code!)
  const type = 'urn:example:voucher'
  const client = {
    client_id: 'shop',
    client_secret: 'a secret of the shop, long enough',
    scope: ['read'],
    grant_types: [type],
  }
  const server = await startServer({ PLUGINS: file }, { seed: { clients: [client] } })
  const handle = await server.server.oauth.artifacts('voucher', { lifetime: 3600 }).put({})
  const redeem = async (): Promise<Response> =>
    server.post(
      '/token',
      { grant_type: type, voucher: handle },
      basic(client.client_id, client.client_secret),
    )
  expect(await (await redeem()).json()).toMatchObject({ scope: 'read' })
  expect(await (await redeem()).json()).toMatchObject({ error: 'invalid_grant' })
  await server.close()
})
