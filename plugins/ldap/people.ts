/**
 * Who of ours somebody of the directory is: who is linked with their entry, or else a new one, unless that would take somebody's name or
 * address. A name alone links nobody: an administrator does (`latchkey ldap link`). What the directory says of them is taken over each time.
 */
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { NewEvent } from '../../src/events.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isHiding } from '../../src/protocol/unseen.ts'
import { usernameKey, usernameProblem } from '../../src/protocol/username.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { actAs, SERVER } from '../../src/services/audit/origin.ts'
import { ADMIN, type User } from '../../src/services/users/user.ts'
import type { LdapConfig } from '../../src/settings/ldap.ts'
import { isIn, type Person } from './directory.ts'
import { OWNED } from './entry.ts'
import {
  Changed,
  isLeft,
  KIND,
  type Link,
  linkIdOf,
  linkOf,
  linkOfUser,
  type Links,
  removing,
  replacing,
} from './links.ts'

export type Account = { readonly user: User } | { readonly refused: 'taken' | 'disabled' | 'nameless' }

export interface People {
  /** Who proved that this is them, as they are from now on; a new account where they have none. */
  admit(person: Person): Promise<Account>
  /** What the directory says of them is theirs here, too. Answers how they are then. */
  update(user: User, person: Person): Promise<User>
  /** The account is theirs from now on; `taken` where the entry or the account is linked otherwise. */
  link(user: User, person: Person): Promise<'linked' | 'already' | 'taken'>
  /** The account is nobody's there any more. Answers what it was linked with; null for nothing. Throws as `UserRecords.delete`, but for `evenLast`. */
  unlink(user: User, options: { evenLast: boolean }): Promise<Link | null>
  /** Whose account it is; null for nobody's yet. */
  ownerOf(person: Person): Promise<User | null>
  /** What the groups of the directory give. */
  rolesOf(person: Person): string[]
}

/** Of changes that come at the same moment, this is tried again. */
const TRIES = 5

export function createPeople(fastify: FastifyInstance, config: LdapConfig, links: Links): People {
  const { users } = fastify.oauth
  const registry = kernelOf(fastify).users
  const log: FastifyBaseLogger = fastify.log
  const ruled = new Set(config.roles.map(({ role }) => role))

  const rolesOf = ({ groups }: Person): string[] => [
    ...new Set(config.roles.filter(({ group }) => isIn(groups, group)).map(({ role }) => role)),
  ]

  /** As of an upstream: whoever can sign in there comes into the account. */
  const told = { upstream: KIND, issuer: config.url.href }
  const linkEvent = (user: string, isNew = false): NewEvent => ({
    type: 'user.upstream_linked',
    user,
    details: { ...told, ...(isNew ? { registered: true as const } : {}) },
  })

  async function ownerOf({ subject }: Person): Promise<User | null> {
    const owner = await links.owner(linkIdOf(config, subject))
    return owner === null ? null : users.get(owner)
  }

  /** Addresses count as verified where an operator says so; not one by which somebody else signs in as their user name. */
  async function isProven(email: string, self?: User): Promise<boolean> {
    if (!config.trustEmail) return false
    const named = await users.find(email)
    return named === null || named.id === self?.id
  }

  async function register(person: Person): Promise<Account> {
    const { username, claims } = person
    const { email } = claims
    if (username === null || !isName(username)) return { refused: 'nameless' }
    // What looks like an address is only taken where it is theirs: somebody else may sign in by it.
    const isTheirs = config.trustEmail && username.toLowerCase() === email?.toLowerCase()
    if (username.includes('@') && !isTheirs) return { refused: 'nameless' }
    const proof = email === undefined ? {} : { email_verified: await isProven(email) }
    const members = { ...claims, ...proof, roles: rolesOf(person), username }
    try {
      const id = linkIdOf(config, person.subject)
      const user = await links.register(members, id, linkOf(config, person), (owner) =>
        linkEvent(owner, true),
      )
      if (user !== null) return { user }
    } catch (error) {
      if (!isAbout(error, 'username') && !isAbout(error, 'email')) throw error
    }
    // The same person came by another process at the same moment.
    const user = await ownerOf(person)
    return user === null ? { refused: 'taken' } : { user }
  }

  /** Undefined where they are so already. */
  async function changesOf(user: User, person: Person): Promise<Record<string, unknown> | undefined> {
    const { email, ...said } = person.claims
    const changes: Record<string, unknown> = {}
    for (const name of OWNED.filter((one) => one !== 'email'))
      if (user.claims[name] !== said[name]) changes[name] = said[name] ?? null
    if (email === undefined) {
      if (user.claims['email'] !== undefined) Object.assign(changes, { email: null, email_verified: null })
    } else if (user.claims['email'] !== email)
      Object.assign(changes, { email, email_verified: await isProven(email, user) })
    // Who has confirmed it themselves keeps that.
    else if (user.claims['email_verified'] !== true && (await isProven(email, user)))
      changes['email_verified'] = true
    const roles = [...user.roles.filter((role) => !ruled.has(role)), ...rolesOf(person)]
    if (roles.toSorted().join(' ') !== user.roles.toSorted().join(' ')) changes['roles'] = roles
    const { username } = person
    const isRenamed = username !== null && usernameKey(username) !== usernameKey(user.username)
    if (isRenamed && !username.includes('@') && isName(username)) changes['username'] = username
    return Object.keys(changes).length === 0 ? undefined : changes
  }

  /** Without what cannot be: another's name, the last administrator's role, and another's address, in the place of which there is none. */
  async function lay(user: User, changes: Record<string, unknown>): Promise<User> {
    try {
      const options = {
        judge: sameAs(user),
        mayRename: true,
        ...('roles' in changes ? { keepOneWith: ADMIN } : {}),
      }
      return await registry.update({ id: user.id }, changes, options)
    } catch (error) {
      const member = (['username', 'email', 'roles'] as const).find(
        (one) => isAbout(error, one) && (one in changes || `${one}_verified` in changes),
      )
      if (member === undefined) throw error
      log.warn({ user: user.id, member, why: (error as Error).message }, 'not taken over from the directory')
      const { [member]: _left, ...others } = changes
      if (member === 'email') {
        delete others['email_verified']
        // The former one is not theirs any more either.
        if (user.claims['email'] !== undefined) Object.assign(others, { email: null, email_verified: null })
      }
      return Object.keys(others).length === 0 ? user : lay(user, others)
    }
  }

  async function update(user: User, person: Person): Promise<User> {
    let now = user
    for (let tries = 0; ; tries++) {
      const changes = await changesOf(now, person)
      if (changes === undefined) return now
      try {
        return await lay(now, changes)
      } catch (error) {
        if (!(error instanceof Changed) || tries === TRIES) throw error
        now = await users.get(user.id)
      }
    }
  }

  /** Where the entry is now, and that it is there. Answers how they are then: whom the directory disabled is enabled. */
  async function renew(user: User, person: Person): Promise<User> {
    const record = await links.get(user.id, linkIdOf(config, person.subject))
    if (record === null) return user
    const link = linkOf(config, person)
    if (isLeft(user, record)) {
      const options = { enabled: true, judge: sameAs(user), also: replacing(record, link) }
      return registry.update({ id: user.id }, {}, options).catch(async (error: unknown) => {
        if (!(error instanceof Changed)) throw error
        return users.get(user.id)
      })
    }
    const { gone = false, dn } = record.value
    if (gone || dn !== person.dn) await links.replace(user.id, record, link)
    return user
  }

  async function admit(person: Person): Promise<Account> {
    const owner = await ownerOf(person)
    const account = owner === null ? await register(person) : { user: owner }
    if ('refused' in account) return account
    const user = await renew(account.user, person)
    // Whoever disabled them here has the last word, whatever the directory says.
    if (user.disabled) return { refused: 'disabled' }
    // Who has asked for their deletion is not changed any more.
    return { user: user.deletesAt === null ? await update(user, person) : user }
  }

  return {
    rolesOf,
    ownerOf,
    // Not the doing of whoever was signed in with the browser before.
    admit: async (person) => actAs(SERVER, async () => admit(person)),
    async update(user, person) {
      const now = await renew(user, person)
      return now.disabled || now.deletesAt !== null ? now : update(now, person)
    },
    async link(user, person) {
      const id = linkIdOf(config, person.subject)
      const put = await links
        .put(user.id, id, linkOf(config, person), linkEvent(user.id))
        .catch((error: unknown) => {
          if (error instanceof OAuthError && error.status === 400) return false
          throw error
        })
      if (put) return 'linked'
      return (await links.owner(id)) === user.id ? 'already' : 'taken'
    },
    async unlink({ id }, { evenLast }) {
      const record = await linkOfUser(links, id)
      if (record === null) return null
      const event: NewEvent = { type: 'user.upstream_unlinked', user: id, details: told }
      if (evenLast) await registry.update({ id }, {}, { also: removing(record, event) })
      else await links.delete(id, record.id, event)
      return record.value
    },
  }
}

/** Throws `Changed` where they are not as they were. */
function sameAs({ updatedAt }: User): (now: User) => void {
  return (now) => {
    if (now.updatedAt !== updatedAt) throw new Changed()
  }
}

function isAbout(error: unknown, member: string): boolean {
  return error instanceof OAuthError && error.status === 400 && error.about?.member === member
}

/** Its spaces are the directory's own, to which some are one: whoever chooses a name here has single ones. */
function isName(username: string): boolean {
  return usernameProblem(username) === undefined && !isHiding(username)
}
