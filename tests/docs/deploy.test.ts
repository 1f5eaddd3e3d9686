/**
 * docs/deploy.md: what it shows is what deploy/ has; its commands are run where that can be done without systemd, sudo
 * and containers, and those that cannot be are named here.
 */
import { execFile, spawnSync } from 'node:child_process'
import { cp, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv, promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parseConfig } from '../../src/config.ts'
import { readStages } from '../deployment/containerfile.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { execute } from '../support/connection.ts'
import { startServer } from '../support/server.ts'
import { noPostgres, startSystemPostgres } from '../support/system-postgres.ts'
import { assertReadable, checkout, openPage, sitDown, substitute } from './page.ts'

const run = promisify(execFile)
const page = await openPage('deploy.md')
const [install, prepare, unit, enable, probe] = [
  page.next('sh'),
  page.next('sh'),
  page.next('ini'),
  page.next('sh'),
  page.next('sh'),
]
const [setupLink, files, nginx, caddy, restart, pgbouncer, limits, dotEnv, compose] = [
  page.next('sh'),
  page.next('ini'),
  page.next('nginx'),
  page.next('caddyfile'),
  page.next('sh'),
  page.next('ini'),
  page.next('sql'),
  page.next('sh'),
  page.next('sh'),
]

const has = (program: string, argument: string): boolean => {
  const found = spawnSync(program, [argument]).status === 0
  if (!found)
    process.stderr.write(`\n!!! SKIPPED: no ${program}, so what is for it is NOT checked by it.\n\n`)
  return found
}

test('the page has no other blocks', () => page.end())

test.each([
  ['latchkey@.service', unit],
  ['nginx.conf', nginx],
  ['Caddyfile', caddy],
  ['pgbouncer.ini', pgbouncer],
])('it shows deploy/%s as it is', async (name, shown) => {
  expect(shown).toBe(await readFile(join(checkout, 'deploy', name), 'utf8'))
})

test('what is not run here: fetching the server, systemctl, containers', async () => {
  for (const block of [install, enable, compose]) await assertReadable(block)
  const [installation] = (await readStages())[0]!.runs
  expect(install).toContain(installation!.command)
  expect(enable).toContain('/opt/latchkey/deploy/latchkey@.service')
})

test.skipIf(!has('systemd-analyze', '--version'))('systemd finds nothing wrong with the unit', async () => {
  const directory = await temporaryDirectory()
  const copy = join(directory, 'latchkey@.service')
  await cp(join(checkout, 'deploy/latchkey@.service'), copy)
  await run('sed', ['-i', `s#/usr/bin/node#${process.execPath}#`, copy])
  await mkdir(`${copy}.d`)
  await writeFile(join(`${copy}.d`, 'files.conf'), files)
  // It tells of unknown settings on stderr, with status 0.
  expect(await run('systemd-analyze', ['verify', copy])).toEqual({ stdout: '', stderr: '' })
})

test('what it has loaded for the server is what the settings beside it name', () => {
  const lines = files.split('\n')
  const loaded = lines.flatMap((line) => /^LoadCredential=([^:]+):/.exec(line)?.[1] ?? [])
  const [, assigned = ''] = /^Environment=(.*)$/m.exec(files)!
  const given = Object.fromEntries(assigned.split(' ').map((one) => one.split('=')))
  expect(parseConfig(given)).toMatchObject({ MTLS_PORT: 8443 })
  expect(Object.values<string>(given).filter((value) => value.startsWith('%d/'))).toEqual(loaded.map((name) => `%d/${name}`))
}) // prettier-ignore

test.skipIf(!has('caddy', 'version'))('Caddy finds nothing wrong with its file', async () => {
  const file = join(checkout, 'deploy/Caddyfile')
  const env = { ...process.env, HOME: await temporaryDirectory() }
  await run('caddy', ['validate', '--adapter', 'caddyfile', '--config', file], { env })
  expect((await run('caddy', ['fmt', file], { env })).stdout).toBe(await readFile(file, 'utf8'))
})

test.skipIf(noPostgres)(
  'the database and the settings that it makes are those of a production start',
  async () => {
    const postgres = await startSystemPostgres()
    const desk = await sitDown({ ADMIN_URL: postgres.url }, postgres.PATH)
    const etc = join(desk.directory, 'etc')
    await desk.sh(
      substitute(prepare, {
        'sudo -u postgres psql': 'psql "$ADMIN_URL" -v ON_ERROR_STOP=1',
        'sudo install': 'install',
        '/etc/latchkey': etc,
        '127.0.0.1:5432': `127.0.0.1:${postgres.port}`,
      }),
    )
    expect([(await stat(etc)).mode & 0o777, (await stat(join(etc, 'env'))).mode & 0o077]).toEqual([0o755, 0])
    const settings = parseEnv(await readFile(join(etc, 'env'), 'utf8'))
    expect(parseConfig(settings)).toMatchObject({ production: true, TRUSTED_PROXIES: ['127.0.0.1'] })

    const command = substitute(setupLink, { 'cd /opt/latchkey && sudo sh': 'sh', '/etc/latchkey': etc })
    // By now, the page has started the server, which brings the database to the newest schema.
    await desk.sh(substitute(command, { 'setup-link': 'migrate' }))
    const { stdout } = await desk.sh(command)
    expect(stdout).toContain('https://login.example.com/setup')

    await execute(postgres.url, limits)
    expect(await execute(settings['DATABASE_URL']!, 'show statement_timeout')).toEqual([
      { statement_timeout: '4500ms' },
    ])
  },
)

test('probes and a rolling restart wait for processes that are ready', async () => {
  const port = String((await startServer()).settings.PORT)
  const desk = await sitDown({})
  const { stdout } = await desk.sh(substitute(probe, { '3001': port, '3002': port }))
  expect(stdout).toBe('{"status":"ready"}{"status":"ready"}')
  const named = await desk.sh(
    substitute(restart, { 'sudo systemctl restart': 'echo', '3001': port, '3002': port }),
  )
  expect(named.stdout).toBe(`latchkey@${port}\nlatchkey@${port}\n`)
})

test('the .env of containers has what compose.yaml asks for', async () => {
  const desk = await sitDown({})
  await desk.sh(dotEnv)
  const made = parseEnv(await readFile(join(desk.directory, '.env'), 'utf8'))
  expect((await stat(join(desk.directory, '.env'))).mode & 0o077).toBe(0)
  const asked = (await readFile(join(checkout, 'compose.yaml'), 'utf8')).matchAll(/\$\{(\w+):\?/g)
  expect(Object.keys(made).toSorted()).toEqual([...new Set([...asked].map(([, name]) => name!))].toSorted())
})
