/**
 * TEST_WITHOUT=latchkey-passkeys,…: every server of a run leaves these plugins out, and a run leaves out the tests that are about one of
 * them. A file that is says so in its first comment (`@needs latchkey-passkeys`), where single tests or rows are, they ask `isThere`.
 */
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')

/** Names of plugins. */
export const LEFT_OUT: ReadonlySet<string> = new Set(
  (process.env['TEST_WITHOUT'] ?? '').split(',').filter((name) => name !== ''),
)

/** Whether nothing is left out. */
export const isWhole = LEFT_OUT.size === 0

/** Whether the servers of this run have all of these plugins. */
export function isThere(...plugins: readonly string[]): boolean {
  return plugins.every((name) => !LEFT_OUT.has(name))
}

/** The plugins without which a file of tests says nothing, by its source. */
export function needsIn(source: string): string[] {
  const [head = ''] = /^\/\*\*[^]*?\*\//.exec(source) ?? []
  return [...head.matchAll(/@needs (.*)/g)].flatMap(([, names]) => names!.match(/latchkey-[\w.-]+/g) ?? [])
}

/** Files of tests, from the root of the checkout. */
export function filesLeftOut(): string[] {
  if (LEFT_OUT.size === 0) return []
  return globSync('tests/**/*.test.ts', { cwd: ROOT }).filter(
    (file) => !isThere(...needsIn(readFileSync(join(ROOT, file), 'utf8'))),
  )
}

/** Rows of a table that are about these plugins, to be spread into it: none where one of them is left out. */
export function rowsWith<T extends object>(plugins: string | readonly string[], rows: T): T {
  return isThere(...[plugins].flat()) ? rows : ((Array.isArray(rows) ? [] : {}) as T)
}

/** Whose routes are, of the plugins that runs are without. */
const ROUTES: Readonly<Record<string, RegExp>> = {
  'latchkey-second-factor': /^\/account\/security\/(?:authenticator|recovery-codes)/,
  'latchkey-upstreams': /^\/upstream\/|^\/account\/linked-sign-ins|^\/admin\/(?:upstream|user\/unlink)/,
  'latchkey-sign-up': /^\/sign-up/,
  'latchkey-forgot-password': /^\/(?:forgot|reset)-password/,
  'latchkey-invitation': /^\/invitation|^\/admin\/user\/(?:withdraw-)?invit/,
  'latchkey-own-data': /^\/account\/data|^\/account-deletion|^\/admin\/user\/keep/,
  'latchkey-ciba': /^\/(?:backchannel-authentication|approve)|^\/account\/security\/approval-code/,
  'latchkey-device-code': /^\/device/,
  'latchkey-client-documents': /^\/admin\/unregistered/,
  'latchkey-webhooks': /^\/admin\/webhooks/,
  'latchkey-shared-signals': /^\/ssf\/|^\/\.well-known\/.*ssf|^\/admin\/shared-signals/,
}

/** Whether the servers of this run have the plugin that a route is of. */
export function isServed(route: string): boolean {
  return Object.entries(ROUTES).every(([plugin, path]) => isThere(plugin) || !path.test(route))
}
