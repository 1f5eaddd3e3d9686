/** The commands of docs/import.md, as they stand there, on a dump of a small site. */
import { access, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { sitDown } from '../docs/page.ts'
import { djangoClient, djangoHash, djangoUser, RESPONSE_TYPES } from '../support/django.ts'
import { CALLBACK, CODE, PASSWORD, SECRET, SECRETS } from '../support/import.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { answerOf, authorizationUrl, goThrough } from '../support/sign-in.ts'
import { findSecrets } from '../support/traces.ts'
import { createUserAgent } from '../support/user-agent.ts'

const root = resolve(import.meta.dirname, '../..')

/** The command blocks of a section, in their order. */
async function blocksOf(section: string): Promise<string[]> {
  const page = await readFile(join(root, 'docs/import.md'), 'utf8')
  const [, text = ''] = page.split(`\n## ${section}\n`)
  return [...text.split('\n## ')[0]!.matchAll(/\n```sh\n([\s\S]*?)\n```\n/g)].map(([, block]) => block!)
}

test('the page brings a site over: its people and its clients go on', async () => {
  const server = await startServer()
  const desk = await sitDown({ ...server.settings, LOG_LEVEL: 'error' })
  const dump = join(desk.directory, 'dump.json')
  const ann = djangoUser('ann', { password: djangoHash(PASSWORD), is_superuser: true })
  const shop = djangoClient('123456', { ...CODE, name: 'Shop' })
  await writeFile(dump, JSON.stringify([ann, ...RESPONSE_TYPES, shop]))
  const printed: string[] = []
  for (const block of await blocksOf('Here')) {
    const { stdout, stderr } = await desk.sh(block)
    expect(stderr).toBe('')
    printed.push(stdout)
  }
  expect(printed).toHaveLength(3)
  expect(findSecrets(printed.join(''), SECRETS)).toEqual([])
  const [dry, real, update] = printed
  expect(dry).toContain('users: 1 would be created')
  expect(real).toContain('clients: 1 created')
  // The superuser alone is not what they were.
  expect(JSON.parse(update!)).toMatchObject({ clients: { keep: 1 }, users: { update: 1 } })
  await expect(access(dump)).rejects.toThrow('ENOENT')

  const agent = createUserAgent(server.url)
  const page = await agent.get(authorizationUrl(server, { client_id: '123456', redirect_uri: CALLBACK }))
  const answer = answerOf(await goThrough(agent, page, { username: 'ann', password: PASSWORD }))
  const form = { grant_type: 'authorization_code', code: answer.get('code')!, redirect_uri: CALLBACK }
  expect((await server.post('/token', form, basic('123456', SECRET))).status).toBe(200)
  expect(await server.server.oauth.users.find('ann')).toMatchObject({ roles: ['admin'] })
})

test('what the page has people run in Django are the models that the import reads', async () => {
  const [command] = await blocksOf('There')
  for (const { model } of [djangoUser('x'), djangoClient('x'), RESPONSE_TYPES[0]!])
    expect(command!.split(' ')).toContain(model)
})
