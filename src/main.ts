#!/usr/bin/env node
/** The command line. Each command is a file in `commands/`; without one, the server is started. */
import { Command } from 'commander'
import { clientCommand } from './commands/client.ts'
import { keyCommand } from './commands/key.ts'
import { serve } from './commands/serve.ts'
import { ConfigError } from './config.ts'
import { OAuthError } from './protocol/errors.ts'
import { openOwnDatabase } from './services/own-database.ts'
import { parseConfig } from './config.ts'

const program = new Command('latchkey')
  .description(
    'OAuth 2.0 authorization server and OpenID Connect provider; settings come from the environment',
  )
  .showHelpAfterError()

program
  .command('serve', { isDefault: true })
  .description('start the server')
  .action(async () => serve(process.env))
program
  .command('migrate')
  .description('bring the database to the newest schema')
  .action(async () => (await openOwnDatabase(parseConfig(process.env))).close())
program.addCommand(clientCommand())
program.addCommand(keyCommand())

try {
  await program.parseAsync()
} catch (error) {
  console.error(explain(error))
  process.exitCode = 1
}

/** One sentence for what the operator can mend; the whole error for what only we can. */
function explain(error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (error instanceof OAuthError) return `${error.message}.`
  if (!(error instanceof Error)) return String(error)
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number }
  if (code === 'EADDRINUSE') return `PORT ${port} on ${address} is in use.`
  if (code?.startsWith('E') || /^[0-9A-Z]{5}$/.test(code ?? ''))
    return `The server cannot start: ${error.message || code}.`
  return error.stack ?? error.message
}
