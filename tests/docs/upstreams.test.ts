/**
 * docs/upstreams.md: every command as it stands there, and the file.
 * @needs latchkey-upstreams
 */
import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { startServer } from '../support/server.ts'
import { openPage, sitDown, substitute } from './page.ts'

test('its commands register what they say, and its file does too', async () => {
  const page = await openPage('upstreams.md')
  const [create, file, unlink, google, microsoft, gitlab, github, enterprise, apple, discord] = [
    page.next('sh'),
    page.next('json'),
    page.next('sh'),
    page.next('sh'),
    page.next('sh'),
    page.next('sh'),
    page.next('sh'),
    page.next('sh'),
    page.next('sh'),
    page.next('sh'),
  ]
  page.end()
  const server = await startServer()
  const desk = await sitDown(server.settings)
  expect((await desk.sh(create)).stdout).toContain('corp  https://login.corp.example  Corp')
  await desk.sh(google)
  await desk.sh(substitute(microsoft, { TENANT: '00000000-0000-4000-8000-000000000000' }))
  const { upstreams } = kernelOf(server.server)
  expect(await upstreams.find('microsoft')).toMatchObject({
    issuer: 'https://login.microsoftonline.com/00000000-0000-4000-8000-000000000000/v2.0',
    claims: { email_verified: 'xms_edov' },
    trust_email: true,
  })
  expect((await desk.sh(github)).stdout).toContain('https://github.com/login/oauth')
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await writeFile(
    join(desk.directory, 'AuthKey_KEY_ID.p8'),
    privateKey.export({ format: 'pem', type: 'pkcs8' }),
  )
  for (const command of [gitlab, enterprise, apple, discord]) await desk.sh(command)
  expect(await upstreams.find('apple')).toMatchObject({ kind: 'apple', issuer: 'https://appleid.apple.com' })
  expect(await upstreams.find('discord')).toMatchObject({
    kind: 'oauth2',
    scope: ['identify', 'email'],
    claims: { name: 'global_name', email_verified: 'verified' },
    subject_claim: 'id',
  })
  await expect
    .poll(async () => (await upstreams.all()).map(({ id }) => id))
    .toEqual(['apple', 'corp', 'discord', 'github', 'github-corp', 'gitlab', 'google', 'microsoft'])
  const { oauth, linkedSignIns } = server.server
  const { id: alice } = await oauth.users.create({ username: 'alice', password: 'a long password of alice' })
  const link = { upstream: 'corp', issuer: 'https://login.corp.example', subject: 'a-1', name: null }
  const columns = 'user_id, kind, record_id, value'
  await server.database.query(
    `insert into user_records (${columns}) values ($1, 'upstream-link', 'one', $2)`,
    [alice, JSON.stringify(link)],
  )
  const listed = (await desk.sh(substitute(unlink, { ID: 'one' }))).stdout
  expect(listed).toContain('one  corp  https://login.corp.example  "a-1"')
  expect(listed).toContain('The sign-in one is unlinked.')
  expect(await linkedSignIns.list(alice)).toEqual([])
  const seeded = await startServer({}, { seed: JSON.parse(file) as object })
  expect(await kernelOf(seeded.server).upstreams.find('corp')).toMatchObject({
    domains: ['corp.example'],
    trust_email: true,
  })
})
