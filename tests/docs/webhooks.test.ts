/** docs/webhooks.md, as it stands there: a service of one's own hears that somebody was changed. */
import { spawn } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { OWN_EVENTS } from '../../src/events.ts'
import { parseWebhook } from '../../src/settings/webhooks.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { SEED } from '../support/sign-in.ts'
import { until } from '../support/until.ts'
import { checkout, openPage, sitDown, substitute } from './page.ts'

test('the events of its table are those that there are', async () => {
  const rows = (await readFile(join(checkout, 'docs/webhooks.md'), 'utf8')).split('\n').filter((line) => line.startsWith('|'))
  const named = rows.flatMap((row) => [...row.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(([, name]) => name!))
  expect(named.length).toBeGreaterThan(20)
  expect(parseWebhook(`https://app.example.com/ whsec_${'A'.repeat(43)}= ${named.join(' ')}`)).toMatchObject({ types: named })
  expect(named.filter((name) => !Object.hasOwn(OWN_EVENTS, name))).toEqual([])
}) // prettier-ignore

test('the service of the page hears of what it asked for', async () => {
  const page = await openPage('webhooks.md')
  const [make, setting, service, example, tried] = [
    page.next('sh'),
    page.next('ini'),
    page.next('js'),
    page.next('json'),
    page.next('sh'),
  ]
  page.end()

  const port = String(await freePort())
  const origin = `http://127.0.0.1:${port}`
  const desk = await sitDown((await startServer({}, { seed: SEED })).settings)
  const secret = (await desk.sh(make)).stdout.trim()
  const [, value = ''] = /^WEBHOOKS="(.*)"$/.exec(setting.trim()) ?? []
  const WEBHOOKS = substitute(value, {
    'https://app.example.com': origin,
    'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD': secret,
  })
  const settings = { WEBHOOKS, UNSAFE_OUTBOUND_ORIGINS: origin }
  const server = await startServer(settings, { seed: SEED })

  await mkdir(join(desk.directory, 'node_modules'), { recursive: true })
  await symlink(
    join(checkout, 'node_modules/standardwebhooks'),
    join(desk.directory, 'node_modules/standardwebhooks'),
  )
  await writeFile(join(desk.directory, 'hooks.mjs'), substitute(service, { '8080': port }))
  const child = spawn(process.execPath, ['hooks.mjs'], {
    cwd: desk.directory,
    env: { WEBHOOK_SECRET: secret, PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  atEndOfFile(async () => void child.kill())
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))

  const { users } = server.server.oauth
  const { id } = await users.update('alice', { email: 'other@example.com', email_verified: false })
  await until(() => expect(lines).toContain(`user.changed ${id} email email_verified`))
  const { type, data } = JSON.parse(example) as { type: string; data: { details: object } }
  expect([type, data.details]).toEqual(['user.changed', { changes: ['email', 'email_verified'] }])
  const { stdout } = await desk.sh(substitute(tried, { 'https://app.example.com': origin }), settings)
  expect(stdout).toMatch(/took the message: it answered with 204, in \d+ ms\.\n$/)
  await until(() => expect(lines).toContain('webhook.test undefined'))
  expect((await fetch(origin, { method: 'POST', body: '{}' })).status).toBe(401)
})
