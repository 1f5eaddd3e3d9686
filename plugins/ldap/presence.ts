/**
 * Whether the people of the directory are still there. Who is gone, disabled, or not found by LDAP_USER_FILTER any more is disabled here, which ends
 * their sessions and tokens, whatever other ways to sign in they have; who is back is enabled. Asked before somebody gets another token, signs in
 * by something else or administers, once in LDAP_RECHECK seconds for each process, and of everybody by `latchkey ldap sync`.
 */
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { actAs, SERVER } from '../../src/services/audit/origin.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { ADMIN, type User } from '../../src/services/users/user.ts'
import type { LdapConfig } from '../../src/settings/ldap.ts'
import { DirectoryFailure } from './connection.ts'
import type { Directory } from './directory.ts'
import { Changed, isAskable, type Link, type Links, linkOfUser, replacing } from './links.ts'
import type { People } from './people.ts'

type Standing = 'gone' | 'kept'

export interface Presence {
  /** False for who is gone. While the directory does not answer, all stays as it was. Throws `temporarily_unavailable` (503) where too many ask. */
  isThere(userId: string): Promise<boolean>
  /** They were seen there a moment ago. */
  note(userId: string): void
  /** Everybody who is linked, or the first who are not there: nothing is done where that would be most of them, unless `force`. */
  sync(options?: { force?: boolean }): Promise<SyncReport>
}

export interface SyncReport {
  readonly seen: number
  /** User names of who was disabled now. */
  readonly gone: readonly string[]
  /** User names of who would be disabled; then nobody was. */
  readonly withheld: readonly string[]
  /** The last administrators: they are gone there, and not here. */
  readonly kept: readonly string[]
  /** User names of who could not be brought up to date, which is in the log. */
  readonly failed: readonly string[]
}

/** Users whose last look is remembered. */
const REMEMBERED = 20_000
/** So few may go at once whatever their share is. */
const FEW = 10
/** Looks of a process that are remembered: where so few of them have found somebody gone, the next one who is not there is disabled. */
const LAST = 2 * FEW

export interface PresenceOptions {
  readonly config: LdapConfig
  readonly directory: Directory
  readonly links: Links
  readonly people: People
}

export function createPresence(
  fastify: FastifyInstance,
  { config, directory, links, people }: PresenceOptions,
): Presence {
  const registry = kernelOf(fastify).users
  const log: FastifyBaseLogger = fastify.log
  /** Milliseconds of the process's clock, by users; the oldest first. */
  const seen = new Map<string, number>()

  /** Whether they were gone, of the last looks. */
  const looks: boolean[] = []

  function tally(isGone: boolean): void {
    looks.push(isGone)
    if (looks.length > LAST) looks.shift()
  }

  function note(userId: string): void {
    seen.delete(userId)
    seen.set(userId, performance.now())
    if (seen.size > REMEMBERED) seen.delete(seen.keys().next().value!)
  }

  const isFresh = (userId: string): boolean => {
    const at = seen.get(userId)
    return at !== undefined && performance.now() - at < config.recheck * 1000
  }

  /** Marked where this is what disables them: whom somebody here disabled is not enabled when they are back. */
  async function leave(user: User): Promise<Standing> {
    const record = await linkOfUser(links, user.id)
    if (record === null || user.disabled) return 'gone'
    const options = {
      disabled: true,
      keepOneWith: ADMIN,
      judge: assertEnabled,
      also: replacing(record, { ...record.value, gone: true }),
    }
    try {
      await registry.update({ id: user.id }, {}, options)
      return 'gone'
    } catch (error) {
      // Another process did it, or somebody here.
      if (error instanceof Changed) return 'gone'
      if (!(error instanceof OAuthError) || error.about?.member !== 'roles') throw error
      log.warn(
        { user: user.id },
        'the last administrator is gone from the directory, and is not disabled here',
      )
      return 'kept'
    }
  }

  /** Whether they are there; who is not is disabled, unless they are the last administrator, or most of the others are not there either. */
  async function look(userId: string, link: Link): Promise<boolean> {
    if (!isAskable(config, link))
      throw new DirectoryFailure('unusable', `somebody is linked by their ${link.attribute}`)
    const person = await directory.get(link.subject)
    const user = await registry.get(userId)
    if (person !== null) {
      tally(false)
      await people.update(user, person)
      return true
    }
    if (user.disabled) return false
    if (looks.filter(Boolean).length < FEW) {
      const isGone = (await leave(user)) === 'gone'
      if (isGone) tally(true)
      return !isGone
    }
    tally(true)
    log.error(
      { user: userId },
      'most of those who are looked for are gone from the directory, so nobody else is disabled: look at LDAP_BASE_DN and LDAP_USER_FILTER; if they are right, run `latchkey ldap sync`',
    )
    return false
  }

  /** Every linked user that the directory can be asked about. */
  async function* linked() {
    for (let after: string | undefined; ;) {
      const users = await registry.list(after === undefined ? {} : { after })
      if (users.length === 0) return
      for (const user of users) {
        const link = await linkOfUser(links, user.id)
        if (link === null) continue
        if (isAskable(config, link.value)) yield { user, link }
        else
          log.warn({ user: user.id }, 'the directory is not asked about who is linked by another attribute')
      }
      after = users.at(-1)!.username
    }
  }

  return {
    note,
    async isThere(userId) {
      if (config.recheck === 0 || isFresh(userId)) return true
      const link = await linkOfUser(links, userId)
      try {
        if (link !== null && !(await actAs(SERVER, async () => look(userId, link.value)))) return false
        note(userId)
      } catch (error) {
        if (!(error instanceof DirectoryFailure)) throw error
        log.warn({ why: error.message }, 'the directory cannot say who is still there')
      }
      return true
    },
    async sync({ force = false } = {}) {
      const absent: User[] = []
      const failed: string[] = []
      /** What is wrong with one of them keeps no other here. */
      async function each(user: User, work: () => Promise<unknown>): Promise<void> {
        try {
          await work()
        } catch (error) {
          if (error instanceof DirectoryFailure) throw error
          log.error({ user: user.id, err: error }, 'somebody of the directory cannot be brought up to date')
          failed.push(user.username)
        }
      }
      let seen = 0
      for await (const { user, link } of linked()) {
        seen++
        await each(user, async () => {
          const person = await directory.get(link.value.subject)
          if (person !== null) await people.update(user, person)
          else if (!user.disabled) absent.push(user)
        })
      }
      const gone: string[] = []
      const kept: string[] = []
      if (!force && absent.length > FEW && absent.length * 2 > seen)
        return { seen, gone, withheld: absent.map(({ username }) => username), kept, failed }
      for (const user of absent)
        await each(user, async () => ((await leave(user)) === 'kept' ? kept : gone).push(user.username))
      return { seen, gone, withheld: [], kept, failed }
    },
  }
}

function assertEnabled({ disabled }: User): void {
  if (disabled) throw new Changed()
}
