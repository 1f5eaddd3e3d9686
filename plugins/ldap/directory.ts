/**
 * Asks the directory: who is meant by a name, whether a password is theirs, and who somebody is now. A few at a time, in lines that networks
 * share, so that a slow directory keeps nobody waiting who does not need it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { escapeValue, filterFor, filterForAny, isCalled } from '../../src/protocol/ldap-filter.ts'
import { usernameProblem } from '../../src/protocol/username.ts'
import { createHashingQueue } from '../../src/services/hashing/hashing-queue.ts'
import type { LdapConfig } from '../../src/settings/ldap.ts'
import { createCircuit } from './circuit.ts'
import {
  codeOf,
  DirectoryFailure,
  elsewhere,
  PASSING,
  PATIENCE,
  withConnection,
  type Connection,
} from './connection.ts'
import { attributesOf, toEntry, type Entry } from './entry.ts'
import { nameKey } from './names.ts'
import { valueOf } from './subjects.ts'

/** Somebody of the directory, with the groups that they are in, by their DNs. */
export interface Person extends Entry {
  readonly groups: readonly string[]
}

export interface Directory {
  /**
   * Whose name and password these are; `expired` where they are right and must be changed there first. Null for an unknown name, a wrong
   * password, and who may not sign in there, nor be asked about (`mayReach`, of the subject): in the same time. Throws `DirectoryFailure`, and
   * `temporarily_unavailable` (503) where too many ask.
   */
  authenticate(
    username: string,
    password: string,
    mayReach?: (subject: string | null) => Promise<boolean>,
  ): Promise<Person | 'expired' | null>
  /** Who is meant by a name; null for nobody, and for more than one. Throws as `authenticate`. */
  find(username: string): Promise<Person | null>
  /**
   * Who is behind a subject now, whatever they are called; null for who is gone, disabled, or not found by LDAP_USER_FILTER any more. Throws as
   * `authenticate`, also where the directory finds somebody else or nobody at all.
   */
  get(subject: string): Promise<Person | null>
}

/** Questions of a process at a time, and how many wait for their turn. */
const PLACES = 10
const WAITING = 64
/** As local passwords (`passwords.ts`). */
const MAX_LENGTH = 1024
/** Binds whose times are remembered. */
const REMEMBERED = 20
/** Milliseconds: whoever waits so long for nothing is still answered in time. */
const MOST_PRETENDED = PATIENCE - 1000
/** Groups that are read. */
const MOST_GROUPS = 1000
/** RFC 4511 Appendix A: what says that a password is not right, or that nobody signs in as this entry. Other codes are for operators to mend. */
const REFUSALS: ReadonlySet<number> = new Set([
  19, // constraintViolation: too many tries there
  32, // noSuchObject
  34, // invalidDNSyntax
  48, // inappropriateAuthentication: it has no password
  49, // invalidCredentials
  50, // insufficientAccessRights
  53, // unwillingToPerform
])
/** What Active Directory says of a right password that has to be changed before all else: expired, or never used. */
const EXPIRED = /\bdata (?:532|773)\b/

export function createDirectory(config: LdapConfig, log: FastifyBaseLogger): Directory {
  const line = createHashingQueue(PLACES, WAITING)
  /** Those who are asked about by the way stand in another line. */
  const besides = line.beside()
  const circuit = createCircuit()
  const times: number[] = []

  const ask = async <T>(work: (connection: Connection) => Promise<T>, within = line): Promise<T> =>
    within.run(async () => circuit.run(async () => withConnection(config, work)))

  async function search(connection: Connection, filter: unknown): Promise<Entry[]> {
    const { searchEntries } = await connection.client.search(config.baseDn, {
      scope: 'sub',
      filter: filter as string,
      attributes: attributesOf(config),
      explicitBufferAttributes: [config.idAttribute, 'objectGUID', 'objectSid'],
      // One more than there may be. Referrals are not followed: what is typed here is for this directory alone.
      sizeLimit: 2,
    })
    return searchEntries.map((found) => {
      const entry = toEntry(found, config, log)
      if (entry === null)
        throw new DirectoryFailure(
          'unusable',
          `the entry ${found.dn} has no one value of ${config.idAttribute}`,
        )
      return entry
    })
  }

  /**
   * Only who is called so, as names are compared here. Of several it is whose user name it is: somebody else may have it for an address, and does
   * not keep them out by that.
   */
  async function named(connection: Connection, username: string): Promise<Entry | null> {
    const filter = filterFor(config.userFilter, username)
    const found = await search(connection, filter)
    const isTheirs = `(${config.usernameAttribute}=${escapeValue(username)})`
    const [entry, other] = found.length > 1 ? await search(connection, `(&${isTheirs}${filter})`) : found
    if (entry === undefined || other !== undefined) {
      if (found.length > 1)
        log.warn({ dns: found.map(({ dn }) => dn) }, 'several entries of the directory have one user name')
      return null
    }
    return isCalled(config.userFilter, username, entry.valuesOf) ? entry : null
  }

  /** Where nobody at all is found, as after a change of settings or rights, that says of nobody that they are gone. */
  async function assertFindsAnybody({ client }: Connection): Promise<void> {
    const filter = `(&(${config.idAttribute}=*)${filterForAny(config.userFilter)})`
    const { searchEntries } = await client.search(config.baseDn, {
      scope: 'sub',
      filter,
      attributes: ['1.1'],
      sizeLimit: 1,
    })
    if (searchEntries.length === 0)
      throw new DirectoryFailure(
        'unusable',
        `LDAP_USER_FILTER finds nobody at all in LDAP_BASE_DN who has ${config.idAttribute}`,
      )
  }

  async function withGroups(connection: Connection, entry: Entry): Promise<Person> {
    const { groupFilter, groupBaseDn, roles } = config
    if (groupFilter === null || roles.length === 0) return { ...entry, groups: entry.memberOf }
    // In one go: an entry may be named so that its DN holds the other.
    const filter = groupFilter.replaceAll(/\{(dn|username)\}/g, (_all, what: 'dn' | 'username') =>
      escapeValue(entry[what] ?? ''),
    )
    const { searchEntries } = await connection.client.search(groupBaseDn, {
      scope: 'sub',
      filter,
      attributes: ['1.1'],
      sizeLimit: MOST_GROUPS,
    })
    return { ...entry, groups: searchEntries.map(({ dn }) => dn) }
  }

  function remember(time: number): void {
    times.push(Math.min(time, MOST_PRETENDED))
    if (times.length > REMEMBERED) times.shift()
  }

  /** As long as comparing a password takes there, where there is none to compare: that nobody is called so must not be told by time. */
  async function pretend(connection: Connection): Promise<null> {
    const own = times.length === 0 ? await connection.bindAsService() : undefined
    if (own === undefined) await sleep(times[Math.floor(Math.random() * times.length)])
    return null
  }

  /** Whether the password is the entry's. */
  async function bind({ client }: Connection, { dn }: Entry, password: string): Promise<boolean | 'expired'> {
    const begun = performance.now()
    const answer = await client.bind(dn, password).catch((error: unknown) => {
      // What was never answered says nothing of how long an answer takes.
      if (codeOf(error) === undefined) throw error
      return error as Error
    })
    remember(performance.now() - begun)
    if (answer === undefined) return true
    const code = codeOf(answer)!
    if (PASSING.has(code)) throw answer
    // Whoever tries hears the same all the same: an unknown name gets nothing of this kind.
    if (!REFUSALS.has(code)) log.warn({ dn, why: answer.message }, 'the directory does not do a bind')
    return EXPIRED.test(answer.message) ? 'expired' : false
  }

  return {
    async authenticate(username, password, mayReach = async () => true) {
      // RFC 4513 §5.1.2: a bind with a name and no password succeeds, for anybody. What holds NUL ends there for some.
      if (password === '' || password.includes('\0') || password.length > MAX_LENGTH) return null
      const name = nameOf(config, username)
      if (usernameProblem(name) !== undefined) return null
      return ask(async (connection) => {
        const entry = await named(connection, name)
        const mayBind = await elsewhere(async () => mayReach(entry?.subject ?? null))
        if (entry === null || entry.isDisabled || !mayBind) return pretend(connection)
        const isRight = await bind(connection, entry, password)
        if (isRight !== true) return isRight === 'expired' ? isRight : null
        // What people may read of themselves is not what the service may, nor nobody where there is none.
        if (config.service === null) return withConnection(config, async (other) => withGroups(other, entry))
        await connection.bindAsService()
        return withGroups(connection, entry)
      })
    },
    find: async (username) =>
      ask(async (connection) => {
        const name = nameOf(config, username)
        const entry = usernameProblem(name) === undefined ? await named(connection, name) : null
        return entry === null ? null : withGroups(connection, entry)
      }, besides),
    get: async (subject) =>
      ask(async (connection) => {
        const [entry, other] = await search(connection, await subjectFilter(config, subject))
        if (entry === undefined) {
          await assertFindsAnybody(connection)
          return null
        }
        if (other !== undefined || entry.subject !== subject)
          throw new DirectoryFailure('unusable', `it does not know one entry by its ${config.idAttribute}`)
        return entry.isDisabled ? null : withGroups(connection, entry)
      }, besides),
  }
}

/** What connects, and looks whether LDAP_BASE_DN is there. It throws `DirectoryFailure`. */
export function createDirectoryProbe(config: LdapConfig): () => Promise<void> {
  return async () =>
    withConnection(config, async ({ client }) => {
      await client.search(config.baseDn, { scope: 'base', attributes: ['1.1'] })
    })
}

async function subjectFilter({ idAttribute, userFilter }: LdapConfig, subject: string): Promise<unknown> {
  const { AndFilter, EqualityFilter, FilterParser } = await import('ldapts')
  const isTheirs = new EqualityFilter({ attribute: idAttribute, value: valueOf(idAttribute, subject) })
  return new AndFilter({ filters: [isTheirs, FilterParser.parseString(filterForAny(userFilter))] })
}

/** The user name in what somebody typed: without the domain of LDAP_DOMAIN before it. */
export function nameOf({ domain }: LdapConfig, typed: string): string {
  const name = typed.trim()
  const before = `${domain}\\`
  const isIts = domain !== undefined && name.toLowerCase().startsWith(before.toLowerCase())
  return isIts ? name.slice(before.length) : name
}

/** Whether a group is one of these. */
export function isIn(groups: readonly string[], group: string): boolean {
  const key = nameKey(group)
  return groups.some((one) => nameKey(one) === key)
}
