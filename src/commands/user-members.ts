/** Reads a user's members from the command line: each standard claim is an option of its name, and keeps its type. */
import type { Command } from 'commander'
import { text } from 'node:stream/consumers'
import { ConfigError } from '../config.ts'
import { StandardClaims } from '../protocol/claims.ts'
import { generatePassword } from '../services/users/passwords.ts'
import { memberValue, optionKey, optionName } from './option.ts'

const CLAIMS = Object.entries(StandardClaims.properties).filter(([name]) => name !== 'updated_at')

export interface PasswordOptions {
  password?: string
  passwordStdin?: boolean
}

/** `--role` and an option for every standard claim. */
export function withMembers(command: Command): Command {
  const collect = (role: string, roles: string[] | undefined) => [...(roles ?? []), role]
  command.option(
    '--role <name>',
    'a role, such as admin; may be repeated, and these are all that the user has then: none by an empty text',
    collect,
  )
  for (const [name, { type }] of CLAIMS as [string, { type?: string }][])
    command.option(`${optionName(name)} <${type === 'string' ? 'text' : 'json'}>`, name)
  return command
}

/** The members that were given. Throws `ConfigError` for malformed JSON. */
export function membersFrom(command: Command): Record<string, unknown> {
  const options = command.opts<Record<string, unknown>>()
  const members: Record<string, unknown> = {}
  const roles = options['role'] as readonly string[] | undefined
  // An empty text alone is none at all.
  if (roles !== undefined) members['roles'] = roles.join('') === '' ? [] : roles
  for (const [name, schema] of CLAIMS) {
    const given = options[optionKey(name)]
    if (typeof given === 'string') members[name] = memberValue(name, schema, [given])
  }
  return members
}

export function withPassword(command: Command): Command {
  return command
    .option('--password-stdin', 'read the password from standard input')
    .option(
      '--password <password>',
      'the password; others on this machine can see it in the list of processes',
    )
    .addHelpText('after', '\nWithout a password one is generated, and shown this once.')
}

/** The password that was given; else a generated one, which is to be shown. */
export async function readPassword({
  password,
  passwordStdin,
}: PasswordOptions): Promise<{ password: string; generated: boolean }> {
  if (passwordStdin && password !== undefined)
    throw new ConfigError('--password and --password-stdin are two ways to say one thing: use one of them.')
  if (password !== undefined) return { password, generated: false }
  if (!passwordStdin) return { password: generatePassword(), generated: true }
  // As `echo` and editors end a line; nothing else is trimmed.
  return { password: (await text(process.stdin)).replace(/\r?\n$/, ''), generated: false }
}
