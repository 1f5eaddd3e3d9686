/** docs/shared-signals.md, as it stands there: an app collects events, and then has them pushed. @needs latchkey-shared-signals */
import { spawn } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { atEndOfFile } from '../support/cleanup.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { SEED } from '../support/sign-in.ts'
import { until } from '../support/until.ts'
import { checkout, openPage, sitDown, substitute } from './page.ts'

test('the app of the page hears by poll and by push', async () => {
  const page = await openPage('shared-signals.md')
  const [setting, register, collect, acknowledge, push] = [
    page.next('ini'),
    page.next('sh'),
    page.next('sh'),
    page.next('sh'),
    page.next('sh'),
  ]
  const [receiver, example, listing, operating] = [page.next('js'), page.next('json'), page.next('sh'), page.next('sh')]
  page.end()

  const port = String(await freePort())
  const origin = `http://127.0.0.1:${port}`
  const [name = '', value = ''] = setting.trim().split('=')
  const server = await startServer({ [name]: value, UNSAFE_OUTBOUND_ORIGINS: origin }, { seed: SEED })
  const desk = await sitDown(server.settings)
  const issuer = { 'https://login.example.com': server.url }
  await mkdir(join(desk.directory, 'node_modules'), { recursive: true })
  await symlink(join(checkout, 'node_modules/jose'), join(desk.directory, 'node_modules/jose'))
  await writeFile(join(desk.directory, 'receiver.mjs'), substitute(receiver, { ...issuer, '8080': port }))
  const child = spawn(process.execPath, ['receiver.mjs'], { cwd: desk.directory, stdio: ['ignore', 'pipe', 'inherit'] })
  atEndOfFile(async () => void child.kill())
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))

  const pushed = substitute(push, { 'https://shop.example.com': origin })
  const { stdout } = await desk.sh([register, substitute(collect, issuer), acknowledge, pushed].join('\n'))
  const { sets } = JSON.parse(await readFile(join(desk.directory, 'events.json'), 'utf8')) as { sets: Record<string, string> }
  expect(Object.values(sets).map((set) => Object.values(decodeJwt(set)['events'] as object))).toEqual([[{ state: 'is it on?' }]])
  expect(stdout).toContain('{"sets":{}}')
  expect(stdout).not.toContain('a-long-random-text')

  const { streams, queue } = server.server.sharedSignals
  const stream = (await streams.find('shop'))!
  await until(async () => expect((await queue.counts([stream.id])).size).toBe(0))
  const said = JSON.parse(example) as { jti: string; sub_id: object; events: Record<string, object> }
  const [[type, payload]] = Object.entries(said.events) as [[string, object]]
  await queue.add([{ stream, claims: { ...said, aud: 'shop' } }])
  /** What the receiver printed, once there are so many lines: the type, whom it is about, and what is said. An event may come twice. */
  const printed = async (count: number) =>
    until(() => {
      const different = [...new Set(lines)]
      expect(different).toHaveLength(count)
      return different.map((line) => {
        const [kind, about, told] = /^(\S+) (\{.*\}) (\{.*\})$/.exec(line)!.slice(1)
        return [kind, JSON.parse(about!), JSON.parse(told!)] as const
      })
    })
  expect(await printed(1)).toEqual([[type.split('/').at(-1), said.sub_id, payload]])
  await until(async () => expect((await queue.counts([stream.id])).size).toBe(0))
  expect((await desk.sh(listing)).stdout).toBe(`shop  enabled  ${origin}  0 wait\n`)
  expect((await desk.sh(operating)).stdout).toMatch(/^shop is paused: .*\nshop is enabled: .*\n$/)
  const about = { format: 'opaque', id: stream.id }
  expect((await printed(3)).slice(1)).toEqual([
    ['stream-updated', about, { status: 'paused', reason: 'We look into it.' }],
    ['stream-updated', about, { status: 'enabled' }],
  ])
}) // prettier-ignore
