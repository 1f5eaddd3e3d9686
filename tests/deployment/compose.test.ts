/** compose.yaml, as far as it can be read without an engine: its settings are ours, and nothing in it is unsafe by default. */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeSettings, parseConfig } from '../../src/config.ts'
import { checkout } from './containerfile.ts'

const text = await readFile(join(checkout, 'compose.yaml'), 'utf8')

/** The lines below `key:` of a service, without their indentation. */
function section(service: string, key: string): string[] {
  const [, ofService = ''] = text.split(`\n  ${service}:\n`)
  const own = ofService.split(/\n {0,2}\S/)[0]!
  const [, ofKey = ''] = `\n${own}`.split(`\n    ${key}:\n`)
  return ofKey
    .split(/\n {0,4}\S/)[0]!
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
}

/** With what `.env` has, as compose does it; throws where it would refuse. */
function interpolate(value: string, env: Record<string, string>): string {
  return value
    .replaceAll(/\$\{(\w+):([?-])([^}]*)\}/g, (_, name: string, kind: string, rest: string) => {
      if (env[name] === undefined && kind === '?') throw new Error(`${name} ${rest}`)
      return env[name] ?? rest
    })
    .replace(/^'(.*)'$/, '$1')
}

function environment(service: string, env: Record<string, string>): Record<string, string> {
  const pairs = section(service, 'environment').map((line) => /^(\w+): (.*)$/.exec(line)!)
  return Object.fromEntries(pairs.map(([, name, value]) => [name!, interpolate(value!, env)]))
}

const ENV = {
  OIDC_ISSUER: 'https://login.example.com',
  SECRET_KEY: randomBytes(32).toString('hex'),
  POSTGRES_PASSWORD: 'p'.repeat(32),
}

test('what it gives the server are settings, and make a production start', () => {
  const settings = environment('server', ENV)
  const known = describeSettings().map(({ name }) => name)
  expect(Object.keys(settings).filter((name) => !known.includes(name))).toEqual([])
  const config = parseConfig(settings)
  expect(config).toMatchObject({ production: true, issuer: ENV.OIDC_ISSUER, PORT: 3000 })
  expect(config.DATABASE_URL).toBe(`postgresql://latchkey:${ENV.POSTGRES_PASSWORD}@database/latchkey`)
})

test.each(Object.keys(ENV))('without %s it does not start', (name) => {
  const { [name as keyof typeof ENV]: _, ...env } = ENV
  const both = () => [environment('server', env), environment('database', env)]
  expect(both).toThrow(`${name} is `)
})

test('the database is reached by the server alone, and the server by this machine alone', () => {
  expect(text).toContain("ports: ['127.0.0.1:3000:3000']")
  expect(text.match(/^\s+ports:/gm)).toHaveLength(1)
  expect(text).toMatch(/\n {2}back:\n {4}internal: true\n/)
  expect(text).toMatch(/image: docker\.io\/library\/postgres:18\n/)
  for (const safe of ['read_only: true', 'cap_drop: [ALL]', "security_opt: ['no-new-privileges:true']"])
    expect(text).toContain(safe)
})
