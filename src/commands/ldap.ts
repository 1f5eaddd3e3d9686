/** `ldap test|link|unlink|sync`: the directory that LDAP_URL names, without anybody's password. */
import { Command } from 'commander'
import type { FastifyInstance } from 'fastify'
import { DirectoryFailure } from '../../plugins/ldap/connection.ts'
import type { Person } from '../../plugins/ldap/directory.ts'
import { ConfigError } from '../config.ts'
import { OAuthError } from '../protocol/errors.ts'
import { userError } from '../protocol/user-members.ts'
import { withJson } from './json-option.ts'
import { print, toLines, withServer } from './run.ts'

interface Options {
  json?: boolean
  entry?: string
  force?: boolean
  yes?: boolean
}

export function ldapCommand(): Command {
  const command = new Command('ldap').description('the directory that LDAP_URL names')
  withJson(
    command
      .command('test <name>')
      .description('who is found by what somebody types as their user name, and what is taken over of them'),
  ).action(async (name: string, { json }: Options) =>
    withDirectory(async ({ oauth, ldap }) => {
      const person = await found(ldap, name)
      const { dn, subject, username, claims, groups } = person
      const owner = await ldap.people.ownerOf(person)
      const namesake = username === null ? null : await oauth.users.find(username)
      const account = owner !== null ? 'linked' : namesake === null ? 'none' : 'taken'
      const shown = {
        dn,
        id: subject,
        username: username ?? '',
        ...claims,
        groups,
        roles: ldap.people.rolesOf(person),
      }
      const says = {
        linked: `They sign in to the account ${owner?.username}.`,
        none: 'They get an account when they first sign in.',
        taken: `There is an account ${namesake?.username} that is not linked with this entry: nobody signs in to it from the directory. If it is theirs, run \`latchkey ldap link ${namesake?.username}\`.`,
      }[account]
      print(
        { ...shown, account: { is: account, username: owner?.username ?? namesake?.username ?? null } },
        [...toLines(shown), says],
        json,
      )
    }),
  )
  withJson(
    command
      .command('link <username>')
      .description('the account is somebody’s of the directory from then on')
      .option('--entry <name>', 'what they type there, where that is another name than here'),
  ).action(async (username: string, { json, entry = username }: Options) =>
    withDirectory(async ({ oauth, ldap }) => {
      const user = await oauth.users.find(username)
      if (user === null) throw userError('username', 'is not registered')
      const person = await found(ldap, entry)
      const linking = await ldap.people.link(user, person)
      if (linking === 'taken')
        throw new ConfigError(
          'The account is linked with another entry already, or the entry with another account.',
        )
      const said = `${user.username} signs in as ${person.dn} from now on.`
      print({ username: user.username, dn: person.dn, linking }, [said], json)
    }),
  )
  withJson(
    command
      .command('unlink <username>')
      .description('the account is nobody’s of the directory any more')
      .option('--yes', 'even where they have no other way to sign in'),
  ).action(async (username: string, { json, yes = false }: Options) =>
    withDirectory(async ({ oauth, ldap }) => {
      const user = await oauth.users.find(username)
      if (user === null) throw userError('username', 'is not registered')
      const link = await ldap.people.unlink(user, { evenLast: yes }).catch((error: unknown) => {
        if (!(error instanceof OAuthError) || error.code !== 'invalid_request') throw error
        throw new ConfigError(`${user.username} has no other way to sign in: add --yes.`)
      })
      if (link === null) throw new ConfigError(`${user.username} is not linked with the directory.`)
      const ways = await oauth.users.waysIn(user.id)
      const lines = [
        `${user.username} does not sign in as ${link.dn} any more. What they hold goes on; \`latchkey user revoke-tokens ${user.username}\` ends it.`,
        ...(ways.length > 0
          ? []
          : [
              `Nothing is left by which they sign in: \`latchkey user set-password ${user.username}\` gives them a password.`,
            ]),
      ]
      print({ username: user.username, dn: link.dn, ways }, lines, json)
    }),
  )
  withJson(
    command
      .command('sync')
      .description('disable whoever is gone from the directory, and take over what it says of all others')
      .option('--force', 'even where most of them are gone'),
  ).action(async ({ json, force = false }: Options) =>
    withDirectory(async ({ ldap }) => {
      const report = await ldap.presence.sync({ force })
      const { seen, gone, kept, withheld, failed } = report
      if (withheld.length > 0)
        throw new ConfigError(
          `${withheld.length} of ${seen} accounts would be disabled, so none was: look at LDAP_BASE_DN and LDAP_USER_FILTER, or say --force.`,
        )
      const lines = [
        `${seen} accounts are linked with the directory.`,
        ...gone.map((name) => `${name} is gone from there: disabled.`),
        ...kept.map((name) => `${name} is gone from there, and is the last administrator: not disabled.`),
        ...failed.map((name) => `${name} could not be brought up to date: the log says why.`),
      ]
      print({ seen, gone, kept, failed }, lines, json)
      if (failed.length > 0) process.exitCode = 1
    }),
  )
  return command
}

async function withDirectory(work: (server: FastifyInstance) => Promise<void>): Promise<void> {
  return withServer(async (_oauth, server) => {
    if (!server.hasDecorator('ldap'))
      throw new ConfigError(
        'There is no directory: LDAP_URL names none, or WITHOUT leaves latchkey-ldap out.',
      )
    try {
      await work(server)
    } catch (error) {
      if (!(error instanceof DirectoryFailure)) throw error
      throw new ConfigError(`The directory cannot be asked: ${error.message}.`)
    }
  })
}

async function found({ directory }: FastifyInstance['ldap'], name: string): Promise<Person> {
  const person = await directory.find(name)
  if (person !== null) return person
  throw new ConfigError('LDAP_USER_FILTER finds nobody of this name in LDAP_BASE_DN, or more than one.')
}
