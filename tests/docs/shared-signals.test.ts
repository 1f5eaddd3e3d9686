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
  const [receiver, example, listing] = [page.next('js'), page.next('json'), page.next('sh')]
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
  const [event, subject, claims] = await until(() => {
    expect(lines).toHaveLength(1)
    return /^(\S+) (\{.*\}) (\{.*\})$/.exec(lines[0]!)!.slice(1)
  })
  expect([event, JSON.parse(subject!), JSON.parse(claims!)]).toEqual([type.split('/').at(-1), said.sub_id, payload])
  expect((await desk.sh(listing)).stdout).toBe(`shop  enabled  ${origin}  0 wait\n`)
}) // prettier-ignore
