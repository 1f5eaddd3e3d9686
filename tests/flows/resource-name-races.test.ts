/** One name for two resources, registered at once by two servers on one database: one of them is refused. */
import { expect, test } from 'vitest'
import { requestsTo } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'

const server = await startServer()
const PORT = await freePort()
const other = await startServer({ ...server.settings, PORT }, { database: server.database })
const atOther = requestsTo(`http://127.0.0.1:${PORT}`)
const [here, there] = [server.server.oauth.resources, other.server.oauth.resources]

const messageOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error as Error).message,
  )

type Given = Parameters<typeof here.saveResource>[0]

/** What both are told, and what is registered then of the two. */
async function race(first: Given, second: Given): Promise<string> {
  const said = await Promise.all([messageOf(here.saveResource(first)), messageOf(there.saveResource(second))])
  expect(said.filter((one) => one === 'done')).toHaveLength(1)
  return said.find((one) => one !== 'done')!
}

test('in each of forty rounds one has the name', async () => {
  for (let round = 0; round < 10; round++) {
    const [a, b, name] = [`urn:a:${round}`, `urn:b:${round}`, `urn:name:${round}`]
    expect(await race({ resource: a, aliases: [name] }, { resource: b, aliases: [`${name}/`] })).toMatch(/^aliases hold .* which is an alias of/)
  }
  for (let round = 10; round < 30; round++) {
    const [a, name] = [`urn:a:${round}`, `urn:name:${round}`]
    expect(await race({ resource: a, aliases: [name] }, { resource: `${name}/` })).toMatch(/^aliases hold .* which is a resource|^resource is an alias of/)
  }
  // Each would be the alias of the other.
  for (let round = 30; round < 40; round++) {
    const [a, b] = [`urn:a:${round}`, `urn:b:${round}`]
    expect(await race({ resource: a, aliases: [b] }, { resource: b, aliases: [a] })).toMatch(/^aliases hold|^resource is an alias of/)
  }
}) // prettier-ignore

test('what one registers, changes and deletes, the other knows within two seconds', async () => {
  const oauth = other.server.oauth
  const client = await oauth.clients.create({ scope: ['seen'] })
  await here.saveResource({ resource: 'https://seen.example', aliases: ['urn:seen'] })
  await here.saveScope({ name: 'seen', resource: 'https://seen.example' })
  const ask = async (resource: string): Promise<number> => {
    const form = { grant_type: 'client_credentials', resource }
    const basic = Buffer.from(`${client.client_id}:${client.client_secret}`).toString('base64')
    const response = await atOther.post('/token', form, { authorization: `Basic ${basic}` })
    await response.body?.cancel()
    return response.status
  }
  await expect.poll(async () => ask('urn:seen')).toBe(200)
  await here.saveResource({ resource: 'https://seen.example', aliases: ['urn:other'] })
  await expect.poll(async () => ask('urn:seen')).toBe(400)
  expect(await ask('urn:other/')).toBe(200)
})
