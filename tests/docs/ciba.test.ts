/**
 * docs/ciba.md, as it stands there: the setting, the client, its request, the person who approves, and a stranger's telephone.
 * @needs latchkey-ciba
 */
import { spawn } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { call, PATH } from '../support/ciba.ts'
import { linkIn, openMailbox } from '../support/mailbox.ts'
import { startServer } from '../support/server.ts'
import { ALICE, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { checkout, openPage, sitDown } from './page.ts'

test('a call centre asks, and Alice approves', async () => {
  const page = await openPage('ciba.md')
  const [setting, register, app] = [page.next('ini'), page.next('sh'), page.next('js')]
  const [request, answer, phone] = [page.next('http'), page.next('json'), page.next('ts')]
  page.end()
  expect(phone.trimEnd()).toBe(
    (await readFile(join(checkout, 'tests/strangers/phone/phone.ts'), 'utf8')).trimEnd(),
  )
  const server = await startServer(Object.fromEntries([setting.trim().split('=')]), { seed: SEED })
  const mailbox = openMailbox(server)
  const desk = await sitDown(server.settings)
  const { stdout } = await desk.sh(register)
  const { client_id, client_secret } = JSON.parse(stdout) as { client_id: string; client_secret: string }

  const modules = join(desk.directory, 'node_modules')
  await mkdir(modules, { recursive: true })
  await symlink(join(checkout, 'node_modules/openid-client'), join(modules, 'openid-client'))
  await writeFile(join(desk.directory, 'call.mjs'), app)
  const env = { ISSUER: server.url, SECRET: client_secret, PATH: process.env['PATH'] }
  const centre = spawn(process.execPath, ['call.mjs'], { cwd: desk.directory, env })
  const [shown, trouble] = [text(centre.stdout), text(centre.stderr)]
  const ended = new Promise((resolve) => centre.on('close', resolve))
  const mail = await mailbox.next(ALICE.email)
  expect(mail.text).toContain('W4SCT')
  const person = createUserAgent(server.url)
  await goThrough(person, await person.get(linkIn(mail)))
  expect({ status: await ended, trouble: await trouble }).toEqual({ status: 0, trouble: '' })
  expect(await shown).toMatch(/^It is \S+, for openid read_books$/m)

  const [first, , , , body] = request.trim().split('\n')
  expect(first).toBe(`POST ${PATH}`)
  const told = await call(server, Object.fromEntries(new URLSearchParams(body)), { client_id, client_secret })
  const wanted = JSON.parse(answer) as object
  expect({ ...told, auth_req_id: '…' }).toEqual({ ...wanted, status: 200 })
})
