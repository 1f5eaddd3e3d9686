/** The schemes of redirect URIs, by every way in which an administrator registers a client. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { signedIn } from '../plugins/admin/administrator.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { runCommandHere } from '../support/command-here.ts'
import { startServer } from '../support/server.ts'

const ROOT = { username: 'root', password: 'a password of the administrator', roles: ['admin'] }
const server = await startServer({}, { seed: { users: [ROOT] } })
const { clients } = server.server.oauth
const settings = {
  DATABASE_URL: server.database.url,
  SECRET_KEY: server.settings['SECRET_KEY'],
  LOG_LEVEL: 'warn',
}
const agent = await signedIn(server, ROOT)
const WEB = 'https://app.example/callback'
const MEMBERS = ['redirect_uris', 'post_logout_redirect_uris'] as const

/** Registers a client with this address; the warning that was given, or why it was refused. */
type Way = (id: string, member: (typeof MEMBERS)[number], uri: string) => Promise<string>

const ways: Record<string, Way> = {
  async code(id, member, uri) {
    const before = server.output().length
    try {
      await clients.create({ client_id: id, redirect_uris: [WEB], [member]: [uri] })
    } catch (error) {
      return (error as Error).message
    }
    return server.output().slice(before)
  },
  async 'the command line'(id, member, uri) {
    const option = `--${member.replaceAll('_', '-')}`
    const given = member === 'redirect_uris' ? [] : ['--redirect-uris', WEB]
    const args = ['client', 'create', '--client-id', id, ...given, option, uri]
    return (await runCommandHere(args, settings)).stderr
  },
  async 'the page'(id, member, uri) {
    const page = await agent.get(`${server.url}/admin/clients/new`)
    const made = await agent.submit(page, 'client', { client_id: id, redirect_uris: WEB, [member]: uri })
    if (made.status === 400) return made.body
    const { body } = await agent.get(`${server.url}/admin/client?client_id=${id}`)
    expect(body).not.toMatch(/class="warning">(?!.*<code>.*<code>)/)
    return body.replaceAll(/<\/?(?:code|bdi)>/g, '')
  },
  async SEED_FILE(id, member, uri) {
    const SEED_FILE = join(await temporaryDirectory(), 'seed.json')
    await writeFile(SEED_FILE, JSON.stringify({ clients: [{ client_id: id, redirect_uris: [WEB], [member]: [uri] }] }))
    try {
      const other = await startServer({ ...server.settings, PORT: 0, SEED_FILE }, { database: server.database })
      await other.close()
      return other.output()
    } catch (error) {
      return (error as Error).message
    }
  },
} // prettier-ignore

describe.each(Object.entries(ways))('by %s', (way, register) => {
  test.each(MEMBERS)('%s: a scheme that is no app of its own is refused', async (member) => {
    for (const scheme of ['ftp', 'ws', 'intent', 'javascript', 'mailto']) {
      const id = `${way}-${member}-${scheme}`.replaceAll(' ', '-')
      expect(await register(id, member, `${scheme}://app.example/cb`)).toMatch(/must not use the scheme/i)
      expect(await clients.find(id)).toBeNull()
    }
  })

  test.each(MEMBERS)('%s: one without a dot is registered with a warning', async (member) => {
    const id = `${way}-${member}`.replaceAll(' ', '-')
    const uri = 'vscode://publisher.extension/callback'
    expect(await register(id, member, uri)).toMatch(/has vscode:, a scheme without a dot/)
    expect((await clients.find(id))?.[member]).toEqual([uri])
  })

  test.each(MEMBERS)('%s: one with a dot needs no warning', async (member) => {
    const id = `${way}-${member}-own`.replaceAll(' ', '-')
    expect(await register(id, member, 'com.example.app:/cb')).not.toMatch(/without a dot/)
    expect((await clients.find(id))?.[member]).toEqual(['com.example.app:/cb'])
  })
})
