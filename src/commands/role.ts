/** `role create|list|show|rename|delete|members|add|remove`: what users are for apps, and who has which. */
import { Command } from 'commander'
import { ConfigError } from '../config.ts'
import { memberError } from '../protocol/errors.ts'
import { userError } from '../protocol/user-members.ts'
import type { Kernel } from '../services/kernel.ts'
import { MOST_COUNTED, type CountedRole } from '../services/users/role-lists.ts'
import { roleToWire } from '../services/users/role-wire.ts'
import type { User } from '../services/users/user.ts'
import { userToWire } from '../services/users/user-wire.ts'
import { withJson } from './json-option.ts'
import { wholeNumber } from './option.ts'
import { print, toLines, withServer } from './run.ts'

interface Options {
  json?: boolean
  after?: string
  limit?: string
  search?: string
  yes?: boolean
}

export function roleCommand(): Command {
  const command = new Command('role').description('roles of users')
  withJson(command.command('create <name>').description('register a role, which nobody has yet')).action(
    async (name: string, options: Options) => show(options, async ({ roles }) => roles.create(name)),
  )
  withList(command.command('list').description('roles by name, and how many have each'), {
    search: 'only those whose name begins with it',
    after: '<name>',
  }).action(async ({ json, ...options }: Options) =>
    withServer(async ({ roles }) => {
      const listed = await roles.list(pageOf(options))
      print(listed.map(roleToWire), listed.map(toLine), json)
    }),
  )
  withJson(command.command('show <name>').description('one role')).action(
    async (name: string, options: Options) => show(options, async (kernel) => getRole(kernel, name)),
  )
  withJson(
    command.command('rename <name> <new-name>').description('another name, for all who have the role'),
  ).action(async (name: string, to: string, options: Options) =>
    show(options, async ({ roles }) => roles.rename(name, to)),
  )
  withJson(command.command('delete <name>').description('take a role from all who have it'))
    .option('--yes', 'do it')
    .action(async (name: string, { yes, json }: Options) => {
      if (yes !== true) throw new ConfigError(`role delete takes ${name} from all who have it: add --yes.`)
      await withServer(async ({ roles }) => {
        await roles.delete(name)
        print({ name, deleted: true }, [`${name} is deleted.`], json)
      })
    })
  withList(command.command('members <name>').description('users who have a role, by name'), {
    search: 'only those whose user name, name or email address begins with it',
    after: '<username>',
  }).action(async (name: string, { json, ...options }: Options) =>
    withServer(async (kernel) => {
      const members = await kernel.roles.members(await getRole(kernel, name), pageOf(options))
      print(
        members.map(userToWire),
        members.map(({ username }) => username),
        json,
      )
    }),
  )
  withJson(
    command
      .command('add <name> <username>')
      .description('give a role to a user, beside those that they have; a new one is made so'),
  ).action(async (name: string, username: string, options: Options) =>
    showUser(options, username, async ({ roles }, { id }) => roles.give(name, id)),
  )
  withJson(
    command.command('remove <name> <username>').description('take a role from a user, and no other'),
  ).action(async (name: string, username: string, options: Options) =>
    showUser(options, username, async ({ roles }, { id }) => roles.take(name, id)),
  )
  return command
}

function withList(command: Command, { search, after }: { search: string; after: string }): Command {
  return withJson(command)
    .option('--search <text>', search)
    .option(`--after ${after}`, 'begin behind this one')
    .option('--limit <number>', 'at most so many', '1000')
}

function pageOf({ search = '', after = '', limit }: Options) {
  return { search, after, limit: wholeNumber('--limit', limit) }
}

async function getRole({ roles }: Kernel, name: string): Promise<CountedRole> {
  const role = await roles.find(name)
  if (role === null) throw memberError('invalid_request', 'name', 'is that of no role')
  return role
}

async function show({ json }: Options, work: (kernel: Kernel) => Promise<CountedRole>): Promise<void> {
  await withServer(async (kernel) => {
    const { directories, ...wire } = roleToWire(await work(kernel))
    const kept = directories.length === 0 ? {} : { directories }
    print({ ...wire, directories }, toLines({ ...wire, ...kept }), json)
  })
}

async function showUser(
  { json }: Options,
  username: string,
  work: (kernel: Kernel, user: User) => Promise<User>,
): Promise<void> {
  await withServer(async (kernel) => {
    const user = await kernel.users.find(username)
    if (user === null) throw userError('username', 'is not registered')
    const wire = userToWire(await work(kernel, user))
    print(wire, toLines(wire), json)
  })
}

function toLine({ name, members, directories, isChanging }: CountedRole): string {
  const count = members > MOST_COUNTED ? `more than ${MOST_COUNTED}` : String(members)
  const kept = directories.length === 0 ? '' : `kept by ${directories.join(', ')}`
  return [name, count, kept, isChanging ? 'being changed' : ''].filter((one) => one !== '').join('  ')
}
