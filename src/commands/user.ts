/** `user create|list|show|update|disable|enable|keep|revoke-tokens|delete|export|reset-factors|set-password`, with the standard claims by their names. */
import { Command } from 'commander'
import type { Kernel } from '../services/kernel.ts'
import { ConfigError } from '../config.ts'
import { userError } from '../protocol/user-members.ts'
import { userToWire } from '../services/users/user-wire.ts'
import type { User } from '../services/users/user.ts'
import { withJson } from './json-option.ts'
import { listed } from './record.ts'
import { print, toLines, withServer } from './run.ts'
import { addLinkCommands, addPasskeyCommands } from './user-ways-in.ts'
import { membersFrom, readPassword, withMembers, withPassword, type PasswordOptions } from './user-members.ts'

interface Options extends PasswordOptions {
  json?: boolean
  after?: string
  limit?: string
  search?: string
  username?: string
  yes?: boolean
}

export function userCommand(): Command {
  const command = new Command('user').description('users')
  withJson(
    withMembers(withPassword(command.command('create <username>').description('register a user'))),
  ).action(async (username: string, options: Options, self: Command) => {
    const { password, generated } = await readPassword(options)
    const members = { ...membersFrom(self), username, password }
    const create = async ({ users }: Kernel) => users.create(members)
    await show({ ...options, begins: true }, create, generated ? password : undefined)
  })
  withJson(
    withMembers(
      command
        .command('update <username>')
        .description('change claims, roles and the name of a user')
        .option('--username <name>', 'another user name; sessions and tokens go on'),
    ),
  ).action(async (username: string, options: Options, self: Command) =>
    show(options, async ({ users }) => {
      const { username: renamed } = options
      const members = { ...membersFrom(self), ...(renamed === undefined ? {} : { username: renamed }) }
      return users.update(username, members, { mayRename: true })
    }),
  )
  withJson(command.command('list').description('users by name'))
    .option('--search <text>', 'only those whose user name, name or email address begins with it')
    .option('--after <username>', 'begin behind this one')
    .option('--limit <number>', 'at most so many', '1000')
    .action(async (options: Options) =>
      withServer(async ({ users }) => {
        const found = await listed(options, {
          list: async (most) => users.list({ after: options.after ?? '', limit: most }),
          search: async (text, most) => users.search(text, { limit: most }),
        })
        print(found.map(userToWire), found.map(toLine), options.json)
      }),
    )
  withJson(command.command('show <username>').description('one user')).action(
    async (username: string, options: Options) =>
      show(options, async ({ users }) => {
        const user = await users.find(username)
        if (user === null) throw userError('username', 'is not registered')
        return user
      }),
  )
  withJson(
    command
      .command('disable <username>')
      .description('end everything of a user, who cannot sign in any more'),
  ).action(async (username: string, options: Options) =>
    show(options, async ({ users }) => users.disable(username)),
  )
  withJson(
    command
      .command('keep <username>')
      .description('cancel the deletion that a user has asked for; they may sign in again'),
  ).action(async (username: string, options: Options) =>
    show(options, async ({ users, accountDeletions }) => {
      const user = await users.find(username)
      if (user === null) throw userError('username', 'is not registered')
      await accountDeletions.cancel(user.id)
      return users.get(user.id)
    }),
  )
  withJson(
    command
      .command('revoke-tokens <username>')
      .description('end every session and token of a user, who may sign in again'),
  ).action(async (username: string, options: Options) =>
    show(options, async ({ users }) => {
      if (!(await users.revokeTokens(username))) throw userError('username', 'is not registered')
      return (await users.find(username))!
    }),
  )
  withJson(command.command('enable <username>').description('let a user sign in again')).action(
    async (username: string, options: Options) => show(options, async ({ users }) => users.enable(username)),
  )
  withJson(
    command
      .command('delete <username>')
      .description('forget a user with everything of theirs; the audit log keeps their id'),
  )
    .option('--yes', 'do it')
    .action(async (username: string, { yes, json }: Options) => {
      if (yes !== true) throw new ConfigError(`user delete removes ${username} for good: add --yes.`)
      await withServer(async ({ users }) => {
        if (!(await users.delete(username))) throw userError('username', 'is not registered')
        print({ username, deleted: true }, [`${username} is deleted.`], json)
      })
    })
  withJson(
    command.command('export <username>').description('all that is kept of a user, as JSON; no secret is'),
  ).action(async (username: string) =>
    withServer(async ({ users }) => {
      const user = await users.find(username)
      if (user === null) throw userError('username', 'is not registered')
      print(await users.export(user.id), [], true)
    }),
  )
  withJson(
    command
      .command('reset-factors <username>')
      .description('take the second factor from a user who has lost it, with the recovery codes'),
  ).action(async (username: string, { json }: Options) =>
    withServer(async ({ users }) => {
      const user = await users.find(username)
      if (user === null) throw userError('username', 'is not registered')
      const reset = await users.resetFactors(user.id)
      const line = reset ? `${username} has no second factor any more.` : `${username} has no second factor.`
      print({ username, reset }, [line], json)
    }),
  )
  withJson(
    withPassword(
      command.command('set-password <username>').description('a new password; ends everything of the user'),
    ),
  ).action(async (username: string, options: Options) => {
    const { password, generated } = await readPassword(options)
    const change = async ({ users }: Kernel) => users.setPassword(username, password)
    await show(options, change, generated ? password : undefined)
  })
  addPasskeyCommands(command)
  addLinkCommands(command)
  return command
}

/** Prints the user, and the password where it was generated. */
async function show(
  { json, begins = false }: Options & { begins?: boolean },
  work: (oauth: Kernel) => Promise<User>,
  password?: string,
): Promise<void> {
  await withServer(
    async (oauth) => {
      const wire = { ...userToWire(await work(oauth)), ...(password === undefined ? {} : { password }) }
      print(wire, toLines(wire), json)
    },
    { begins },
  )
}

function toLine({ username, roles, disabled, deletesAt }: User): string {
  const deletion = deletesAt === null ? '' : `to be deleted at ${new Date(deletesAt).toISOString()}`
  return [username, roles.join(' '), disabled ? 'disabled' : '', deletion]
    .filter((one) => one !== '')
    .join('  ')
}
