/** The commands, each loaded when it is asked for; without one, the server is started. */
import cluster from 'node:cluster'
import { Command } from 'commander'
import packageJson from 'latchkey/package.json' with { type: 'json' }
import type { OAuthError } from '../protocol/errors.ts'
import { begun } from './begun.ts'
import { withJson } from './json-option.ts'

/** Commands of a file each, with what is said of them without it. */
export const LOADED_BY_NAME: readonly (readonly [string, string, () => Promise<Command>])[] = [
  ['brand', 'a folder with a look of your own: init, templates, template', async () => (await import('./brand.ts')).brandCommand()],
  ['client', 'registered clients: create, list, show, update, rotate-secret, delete', async () => (await import('./client.ts')).clientCommand()],
  ['client-document', 'apps that are known by their address: list, block, unblock', async () => (await import('./client-document.ts')).clientDocumentCommand()],
  ['delivery', 'what could not be delivered to others: list, retry', async () => (await import('./delivery.ts')).deliveryCommand()],
  ['distribute', 'the tables of tokens, over several PostgreSQL servers: plan, apply, status, back', async () => (await import('./distribute.ts')).distributeCommand()],
  ['import', 'clients and users from Django with django-oidc-provider', async () => (await import('./import.ts')).importCommand()],
  ['initial-token', 'initial access tokens, by which apps register themselves: create, list, delete', async () => (await import('./initial-token.ts')).initialTokenCommand()],
  ['key', 'signing keys: list, rotate, revoke', async () => (await import('./key.ts')).keyCommand()],
  ['mail', 'mails: test', async () => (await import('./mail.ts')).mailCommand()],
  ['resource', 'the APIs that tokens are for: create, list, show, update, delete', async () => (await import('./resource.ts')).resourceCommand()],
  ['role', 'roles of users: create, list, show, rename, delete, members, add, remove', async () => (await import('./role.ts')).roleCommand()],
  ['scope', 'registered scopes: create, list, show, update, delete', async () => (await import('./scope.ts')).scopeCommand()],
  ['stream', 'streams of security events, by which apps hear: list, pause, enable, delete', async () => (await import('./stream.ts')).streamCommand()],
  ['trusted-issuer', 'issuers whose JWTs are good here: create, list, show, update, delete', async () => (await import('./trusted-issuer.ts')).trustedIssuerCommand()],
  ['upstream', 'providers by which people sign in, such as Google and GitHub: create, list, show, update, delete', async () => (await import('./upstream.ts')).upstreamCommand()],
  ['user', 'users: create, list, show, update, disable, enable, keep, revoke-tokens, delete, export, set-password, reset-factors, passkeys, delete-passkey, linked-sign-ins, unlink', async () => (await import('./user.ts')).userCommand()],
  ['ldap', 'the directory that LDAP_URL names: test, link, unlink, sync', async () => (await import('./ldap.ts')).ldapCommand()],
  ['webhook', 'the addresses that WEBHOOKS names: list, test', async () => (await import('./webhook.ts')).webhookCommand()],
] // prettier-ignore

/** Runs one command line. A failure is told on stderr, and the exit status is 1. */
export async function run(argv: readonly string[]): Promise<void> {
  const program = new Command('latchkey')
    .description(
      'OAuth 2.0 authorization server and OpenID Connect provider; settings come from the environment',
    )
    .version(packageJson.version)
    .showHelpAfterError()
  // A word that is no command is that, and not one too many for `serve`.
  const isDefault = argv[2]?.startsWith('-') ?? true
  program
    .command('serve', { isDefault })
    .description('start the server')
    .action(async () => (await import('../serving/serve.ts')).serve(process.env))
  program
    .command('prepare', { hidden: true })
    .description('what the first start on a database does, for `serve`')
    .action(async () => (await import('../serving/prepare.ts')).prepare(process.env))
  withJson(program.command('migrate'))
    .description('bring the database to the newest schema')
    .action(async ({ json }: { json?: boolean }) => {
      const { print, withServer } = await import('./run.ts')
      await withServer(
        async ({ database: { where } }) =>
          print({ database: where }, [`The newest schema is in ${where}.`], json),
        { migrates: true },
      )
    })
  withJson(program.command('setup-link'))
    .description('a link to create the first administrator, good once and for half an hour')
    .action(async ({ json }: { json?: boolean }) => (await import('./setup-link.ts')).setupLink(json))
  withJson(program.command('doctor'))
    .description('what is well and what is not, of the settings, the database and the keys; changes nothing')
    .option('--client <url>', 'instead, the way of a client: of its metadata document, or to an MCP server')
    .option('--mail <address>', 'send a test mail there too')
    .action(async (options: { json?: boolean; client?: string; mail?: string }) =>
      (await import('./doctor.ts')).doctor(process.env, options),
    )
  for (const [name, description, load] of LOADED_BY_NAME)
    if (argv.includes(name)) program.addCommand(await load())
    else program.command(name).description(description)
  try {
    await program.parseAsync(argv)
  } catch (error) {
    console.error(await explain(error))
    process.exitCode = 1
    // A worker would else wait for its supervisor.
    if (cluster.isWorker) process.exit()
  }
}

/** Of a connection, or of a name that was looked up for one. */
interface NetworkError extends NodeJS.ErrnoException {
  address?: string
  port?: number
  hostname?: string
  /** Where a name has several addresses: what became of each. */
  errors?: NetworkError[]
}

/** One sentence for what the operator can mend; the whole error for what only we can. */
async function explain(error: unknown): Promise<string> {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'ConfigError') return error.message
  if (error.name === 'OAuthError') return (await import('./refused.ts')).sentencesOf(error as OAuthError)
  // Its cause may look like our database's.
  if (error.name === 'PluginError') return error.stack ?? error.message
  const { code, address, port } = error as NetworkError
  if (code === 'EADDRINUSE')
    return `PORT ${port} on ${address} is in use. Set another PORT, or leave it out: then the next free one is taken.`
  const hasBegun = begun.has(error)
  if (!hasBegun && isOfDatabase(error))
    return `This cannot start: the database that DATABASE_URL names is out of reach: ${error.message || code}.`
  const remedy = hasBegun ? null : await remedyFor(error)
  if (remedy !== null) return `This cannot start: the database cannot be used (${error.message}): ${remedy}.`
  if (await isCutOff(error, hasBegun))
    return `The database is not available now: ${error.message || code}. See whether it was done all the same, and try again.`
  if (code !== undefined && /^(?:E[A-Z]+|[0-9A-Z]{5})$/.test(code))
    return `${hasBegun ? 'This failed' : 'This cannot start'}: ${error.message || code}.`
  return error.stack ?? error.message
}

/** Where the database lets nobody in. */
async function remedyFor(error: Error): Promise<string | null> {
  return namesDatabase() ? (await import('../words/database-refusal.ts')).remedyOf(error) : null
}

/** From a database that was reached, in the middle of something: not where it refused us, or cannot do it. */
async function isCutOff(error: NetworkError, hasBegun: boolean): Promise<boolean> {
  const { code, syscall = 'read' } = error
  if (hasBegun && isOfDatabase(error)) return true
  if (code !== undefined && !code.startsWith('E')) return /^(?:08|57P0[1245]|25P0[34])/.test(code)
  // What fails at a file, a name or an address has another system call.
  return /^(?:read|write)$/.test(syscall) && (await import('../store/failures.ts')).isUnavailable(error)
}

/** The embedded one has words of its own. */
function namesDatabase(): boolean {
  return Boolean(process.env['DATABASE_URL'] ?? process.env['DATABASE_URL_FILE'])
}

/** Nothing else is connected to before a start is done; HOST is looked up too. */
function isOfDatabase({ syscall, hostname, errors = [] }: NetworkError): boolean {
  if (!namesDatabase()) return false
  if (syscall === 'getaddrinfo') return hostname !== process.env['HOST']
  return syscall === 'connect' || errors.some(isOfDatabase)
}
