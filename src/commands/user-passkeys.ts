/** `user passkeys` and `user delete-passkey`: what people who lost a device ask an administrator for. */
import type { Command } from 'commander'
import type { FastifyInstance } from 'fastify'
import type { Passkeys } from '../../plugins/passkeys/passkeys.ts'
import { ConfigError } from '../config.ts'
import { userError } from '../protocol/user-members.ts'
import type { User } from '../services/users/user.ts'
import { withJson } from './json-option.ts'
import { print, withServer } from './run.ts'

interface Options {
  json?: boolean
}

export function addPasskeyCommands(command: Command): void {
  withJson(command.command('passkeys <username>').description('the passkeys of a user')).action(
    async (username: string, { json }: Options) =>
      withPasskeys(username, async (passkeys, { id: userId }) => {
        const listed = (await passkeys.list(userId)).map(toWire)
        print(listed, listed.map(toLine), json)
      }),
  )
  withJson(
    command
      .command('delete-passkey <username> <id>')
      .description('delete a passkey of a user, by its id as `user passkeys` lists it')
      // Base64url begins with a hyphen now and then, as an option does.
      .helpOption('--help')
      .allowUnknownOption(),
  ).action(async (username: string, id: string, { json }: Options) =>
    withPasskeys(username, async (passkeys, user) => {
      if (!(await passkeys.remove(user.id, id))) throw userError('passkey', 'is not there')
      print({ id, deleted: true }, [`The passkey ${id} is deleted.`], json)
    }),
  )
}

async function withPasskeys(
  username: string,
  work: (passkeys: Passkeys, user: User) => Promise<void>,
): Promise<void> {
  await withServer(async ({ users }, server) => {
    const user = await users.find(username)
    if (user === null) throw userError('username', 'is not registered')
    await work(passkeysOf(server), user)
  })
}

function passkeysOf(server: FastifyInstance): Passkeys {
  if (server.hasDecorator('passkeys')) return server.passkeys
  throw new ConfigError(
    'There are no passkeys here: latchkey-passkeys is left out, or OIDC_ISSUER is one for which browsers make none.',
  )
}

type Listed = Awaited<ReturnType<Passkeys['list']>>[number]

function toWire({ id, createdAt, value: { name, usedAt, synced } }: Listed) {
  const at = (time: number): string => new Date(time).toISOString()
  return { id, name, created: at(createdAt), last_used: usedAt === null ? null : at(usedAt), synced }
}

function toLine({ id, name, created, last_used: used, synced }: ReturnType<typeof toWire>): string {
  const use = used === null ? 'not used yet' : `last used ${used}`
  return [id, name, `since ${created}`, use, synced ? 'synced' : 'on one device'].join('  ')
}
