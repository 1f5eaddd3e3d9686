/** A misspelt setting is told of, by the name that was meant; what others put into an environment is not. */
import { expect, test, vi } from 'vitest'
import type { SettingValues } from '../../src/config.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { describeStrays } from '../../src/settings/setting-names.ts'
import { Settings } from '../../src/settings/index.ts'
import { runCommandHere } from '../support/command-here.ts'
import { startServer } from '../support/server.ts'

/** What is said of an environment that holds these. */
function ofEnvironment(names: SettingValues): string[] {
  for (const [name, value] of Object.entries(names)) vi.stubEnv(name, String(value))
  const said = describeStrays(names)
  vi.unstubAllEnvs()
  return said
}

const sentence = (name: string, nearest: string): string =>
  `${name} is no setting, and is ignored: the nearest is ${nearest}.`

test.each([
  ['OIDC_TOKEN_EXPIRES', 'OIDC_TOKEN_EXPIRE'],
  ['OIDC_INTROSPECTION_VALIDATE_AUDIENCE', 'OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE'],
  ['oidc_issuer', 'OIDC_ISSUER'],
  ['DATABSE_URL', 'DATABASE_URL'],
  ['DATABASE_URI', 'DATABASE_URL'],
  ['SEEDFILE', 'SEED_FILE'],
  ['SECERT_KEY', 'SECRET_KEY'],
  ['PROT', 'PORT'],
  ['WORKER', 'WORKERS'],
])('%s in the environment is told of, as %s', (name, nearest) => {
  expect(ofEnvironment({ [name]: 'canary' })).toEqual([sentence(name, nearest)])
})

test('the settings themselves are not, nor what is empty, nor the names of others', () => {
  expect(ofEnvironment(Object.fromEntries(Object.keys(Settings.properties).map((name) => [name, 'x'])))).toEqual([])
  expect(ofEnvironment({ OIDC_NOTHING: '' })).toEqual([])
  const others = [
    'PATH', 'HOME', 'PWD', 'OLDPWD', 'SHELL', 'SHLVL', 'TERM', 'USER', 'LOGNAME', 'LANG', 'TZ', 'TMPDIR', 'EDITOR', 'PAGER', 'MAIL',
    'HOSTNAME', 'HOSTTYPE', 'DISPLAY', 'SSH_TTY', 'XDG_DATA_DIRS', 'XDG_DATA_HOME', 'DEBUG', 'CI', 'NODE_OPTIONS', 'NODE_PATH',
    'NODE_EXTRA_CA_CERTS', 'npm_config_user_agent', 'INIT_CWD', 'PGHOST', 'PGPORT', 'PGDATA', 'POSTGRES_DB', 'TEST_DATABASE_URL',
    'LATCHKEY_PORT', 'LATCHKEY_SERVICE_HOST', 'KUBERNETES_PORT', 'REDIS_URL', 'HTTPS_PROXY', 'no_proxy', 'JOURNAL_STREAM',
    'INVOCATION_ID', 'AWS_REGION', 'SMTP_URL', 'COLUMNS', 'LINES', '_', 'PS1', 'FPORT_RANGE',
  ]
  expect(ofEnvironment(Object.fromEntries(others.map((name) => [name, 'x'])))).toEqual([])
}) // prettier-ignore

test('from code, every name is meant for us; the environment may stand beside it', async () => {
  vi.stubEnv('SOMEBODY_ELSES', 'x')
  const { server, output } = await startServer({
    ...process.env,
    TOKEN_LIFETIME: 'canary',
    OIDC_TOKN_EXPIRE: 60,
  })
  expect(kernelOf(server).config.OIDC_TOKEN_EXPIRE).toBe(3600)
  const warned = output()
    .split('\n')
    .filter((line) => line.includes('is no setting'))
    .map((line) => JSON.parse(line) as { level: string; msg: string })
  expect(warned.map(({ level }) => level)).toEqual(['warn', 'warn'])
  expect(warned[0]!.msg).toMatch(/^TOKEN_LIFETIME is no setting, and is ignored: the nearest is [A-Z_]+\.$/)
  expect(warned[1]!.msg).toBe(sentence('OIDC_TOKN_EXPIRE', 'OIDC_TOKEN_EXPIRE'))
  expect(output()).not.toContain('canary')
  vi.unstubAllEnvs()
})

test('a command says it too, also where it is refused for what was meant', async () => {
  const given = { NODE_ENV: 'production', OIDC_ISSUER: 'https://id.example', SECRET_KEY: 'k'.repeat(40) }
  const { status, stderr } = await runCommandHere(['client', 'list'], { ...given, DATABASE_ULR: 'canary' })
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: `${sentence('DATABASE_ULR', 'DATABASE_URL')}\nDATABASE_URL must be set, because NODE_ENV is production: this is a production start.\n`,
  })
})
