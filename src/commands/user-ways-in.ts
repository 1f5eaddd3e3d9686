/**
 * `user passkeys`, `user delete-passkey`, `user linked-sign-ins` and `user unlink`: what people who lost a device, or somebody else has a
 * sign-in of, ask an administrator for.
 */
import type { Command } from 'commander'
import type { FastifyInstance } from 'fastify'
import type { Passkeys } from '../../plugins/passkeys/passkeys.ts'
import type { LinkedSignIns } from '../../plugins/upstreams/links.ts'
import { ConfigError } from '../config.ts'
import { userError } from '../protocol/user-members.ts'
import type { User } from '../services/users/user.ts'
import { withJson } from './json-option.ts'
import { quote } from './quote.ts'
import { print, withServer } from './run.ts'

interface Options {
  json?: boolean
}

export function addPasskeyCommands(command: Command): void {
  withJson(command.command('passkeys <username>').description('the passkeys of a user')).action(
    async (username: string, { json }: Options) =>
      withUser(username, async ({ id: userId }, server) => {
        const listed = (await passkeysOf(server).list(userId)).map(toPasskey)
        print(listed, listed.map(toPasskeyLine), json)
      }),
  )
  withJson(
    takingId(
      command
        .command('delete-passkey <username> <id>')
        .description('delete a passkey of a user, by its id as `user passkeys` lists it'),
    ),
  ).action(async (username: string, id: string, { json }: Options) =>
    withUser(username, async (user, server) => {
      if (!(await passkeysOf(server).remove(user.id, id))) throw userError('passkey', 'is not there')
      print({ id, deleted: true }, [`The passkey ${id} is deleted.`], json)
    }),
  )
}

export function addLinkCommands(command: Command): void {
  withJson(
    command
      .command('linked-sign-ins <username>')
      .description('the sign-ins of upstreams that are linked with a user'),
  ).action(async (username: string, { json }: Options) =>
    withUser(username, async ({ id: userId }, server) => {
      const listed = (await linksOf(server).list(userId)).map(toLink)
      print(listed, listed.map(toLinkLine), json)
    }),
  )
  withJson(
    takingId(
      command
        .command('unlink <username> <id>')
        .description('unlink a sign-in of an upstream, by its id as `user linked-sign-ins` lists it'),
    ),
  ).action(async (username: string, id: string, { json }: Options) =>
    withUser(username, async (user, server) => {
      if (!(await linksOf(server).unlink(user.id, id))) throw userError('linked sign-in', 'is not there')
      print({ id, unlinked: true }, [`The sign-in ${id} is unlinked.`], json)
    }),
  )
}

/** Base64url begins with a hyphen now and then, as an option does. */
function takingId(command: Command): Command {
  return command.helpOption('--help').allowUnknownOption()
}

async function withUser(
  username: string,
  work: (user: User, server: FastifyInstance) => Promise<void>,
): Promise<void> {
  await withServer(async ({ users }, server) => {
    const user = await users.find(username)
    if (user === null) throw userError('username', 'is not registered')
    await work(user, server)
  })
}

function passkeysOf(server: FastifyInstance): Passkeys {
  if (server.hasDecorator('passkeys')) return server.passkeys
  throw new ConfigError(
    'There are no passkeys here: latchkey-passkeys is left out, or OIDC_ISSUER is one for which browsers make none.',
  )
}

function linksOf(server: FastifyInstance): LinkedSignIns {
  if (server.hasDecorator('linkedSignIns')) return server.linkedSignIns
  throw new ConfigError('There are no linked sign-ins here: latchkey-upstreams is left out.')
}

type Listed<List extends { list(userId: string): Promise<readonly object[]> }> = Awaited<
  ReturnType<List['list']>
>[number]

const at = (time: number): string => new Date(time).toISOString()

function toPasskey({ id, createdAt, value: { name, usedAt, synced } }: Listed<Passkeys>) {
  return { id, name, created: at(createdAt), last_used: usedAt === null ? null : at(usedAt), synced }
}

function toPasskeyLine({ id, name, created, last_used: used, synced }: ReturnType<typeof toPasskey>): string {
  const use = used === null ? 'not used yet' : `last used ${used}`
  return [id, name, `since ${created}`, use, synced ? 'synced' : 'on one device'].join('  ')
}

function toLink({ id, createdAt, value: { upstream, issuer, subject, name } }: Listed<LinkedSignIns>) {
  return { id, upstream, issuer, subject, name, created: at(createdAt) }
}

function toLinkLine({ id, upstream, issuer, subject, name, created }: ReturnType<typeof toLink>): string {
  const as = name === null ? [] : [`as ${quote(name)}`]
  return [id, upstream, issuer, quote(subject), ...as, `since ${created}`].join('  ')
}
