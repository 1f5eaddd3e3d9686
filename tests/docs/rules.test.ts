/** docs/doors/rules.md: its pieces of code, put together to one plugin as they stand there. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createClient, requestToken } from '../support/clients.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { authorize, REDIRECT_URI, SEED, WEB } from '../support/sign-in.ts'
import { openPage } from './page.ts'

test('the pieces make a plugin: a policy, a name for users, and guesses that end', async () => {
  const page = await openPage('doors/rules.md')
  const pieces = [page.next('ts'), page.next('ts'), page.next('ts'), page.next('ts')]
  page.end()
  const PLUGINS = join(await temporaryDirectory(), 'rules.ts')
  const plugin = [
    `import { createHmac, timingSafeEqual } from 'node:crypto'`,
    `import { OAuthError, Type } from 'latchkey'`,
    'export default async function rules({ oauth }: any): Promise<void> {',
    `oauth.extendClientMetadata(Type.Object({ department: Type.Optional(Type.String()) }))`,
    ...pieces,
    '}',
  ]
  await writeFile(PLUGINS, plugin.join('\n'))
  const of = (department: string) => ({ ...WEB, subject_type: 'by_department', department })
  const seed = {
    ...SEED,
    clients: [of('north'), { ...of('north'), client_id: 'also' }, { ...of('south'), client_id: 'other' }],
  }
  const server = await startServer({ PLUGINS }, { seed })

  const shop = await createClient(server, { scope: ['read', 'pay'] })
  const ask = async (scope: string) => requestToken(server, shop, { scope })
  expect((await ask('read')).status).toBe(200)
  const refused = await ask('read pay')
  expect([refused.status, await refused.json()]).toMatchObject([400, { error: 'invalid_scope' }])

  const subjectOf = async (client_id: string): Promise<unknown> => {
    const answer = await authorize(server, { client_id })
    const form = { grant_type: 'authorization_code', code: answer.get('code')!, redirect_uri: REDIRECT_URI }
    const tokens = await server.post('/token', form, basic(client_id, WEB.client_secret))
    return decodeJwt(((await tokens.json()) as { id_token: string }).id_token).sub
  }
  const housed = { redirect_uri: REDIRECT_URI, profile: 'of-our-house' }
  const { clientId } = await createClient(server, housed)
  expect((await server.server.oauth.findClient(clientId))?.metadata).toMatchObject({
    require_pkce: true,
    subject_type: 'pairwise',
  })
  await expect(createClient(server, { ...housed, subject_type: 'public' })).rejects.toThrow('subject_type')

  const north = await subjectOf('web')
  expect(await subjectOf('also')).toBe(north)
  expect(await subjectOf('other')).not.toBe(north)

  const guess = async () => (await server.post('/voucher', { voucher: 'a.b' }, shop.basic)).status
  const statuses = new Set<number>()
  for (let tries = 0; tries < 21; tries++) statuses.add(await guess())
  expect([...statuses]).toEqual([400, 429])
})
