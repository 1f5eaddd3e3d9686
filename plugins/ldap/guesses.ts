/**
 * How many wrong passwords reach the directory, which locks whose are guessed: LDAP_GUESSES for a name, for an entry by whatever names, and for each
 * browser in which the account has signed in before, whoever else guesses. They count right before it is asked, so that all processes together ask it no
 * more often; a right one takes them back, as it does there, and of what it has not judged nothing counts.
 */
import type { FastifyInstance } from 'fastify'
import type { KnownBrowser } from '../../src/doors/password-source.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { usernameKey } from '../../src/protocol/username.ts'
import type { LdapConfig } from '../../src/settings/ldap.ts'
import { EVERY_ACCOUNT, statements } from '../../src/store/throttles.ts'
import { nameOf } from './directory.ts'
import { linkIdOf, type Links } from './links.ts'

export interface Guesses {
  /** Of a password that somebody typed with this name. */
  of(username: string, browser: KnownBrowser): Guess
}

export interface Guess {
  /**
   * Whether the entry may be asked: not where other names of it have been tried too often, which the answer must not tell. Null is for nobody's, of
   * whom as much is looked up. Counts it, and throws `temporarily_unavailable` (429) where the name has been tried too often.
   */
  mayReach(subject: string | null): Promise<boolean>
  /** It was right. */
  forgive(): Promise<void>
  /** The directory has not judged it. */
  giveBack(): Promise<void>
}

type Counted = 'name' | 'entry' | 'browser'

/** Seconds after which one more is let through: directories have forgotten the others by then. */
const RECOVERY = 15 * 60

export function createGuesses(fastify: FastifyInstance, config: LdapConfig, links: Links): Guesses {
  const { box, database } = kernelOf(fastify)
  const { users } = fastify.oauth
  const step = RECOVERY * 1000
  const limit = [[EVERY_ACCOUNT], [step], [(config.guesses - 1) * step]] as const
  return {
    of(typed, browser) {
      const username = nameOf(config, typed)
      const name = usernameKey(username) ?? ''
      const taken: string[] = []
      const counted: string[] = []
      const takes = async (what: Counted, whose: string): Promise<boolean> => {
        const source = box.hash(`guessed in the directory\0${what}\0${whose}`)
        taken.push(source)
        const isLeft = (await database.query(statements.fail, [source, ...limit])).length > 0
        if (isLeft) counted.push(source)
        return isLeft
      }
      return {
        async mayReach(subject) {
          // By whose the entry is: anybody may have an account here that is called like somebody there.
          const mark = await browser.markOf(async () => {
            const owner = await links.owner(linkIdOf(config, subject ?? `\0${name}`))
            return owner === null ? null : users.get(owner)
          })
          const isLeft = await takes('name', name)
          const isKnown = mark !== null && (await takes('browser', mark))
          if (!isLeft && !isKnown)
            throw new OAuthError('temporarily_unavailable', 'there were too many attempts; try again later', {
              status: 429,
              retryAfter: RECOVERY,
            })
          return (await takes('entry', subject ?? name)) || isKnown
        },
        async forgive() {
          for (const source of taken) await database.query(statements.forgive, [source, EVERY_ACCOUNT])
        },
        async giveBack() {
          for (const source of counted)
            await database.query(statements.giveBack, [source, EVERY_ACCOUNT, step])
        },
      }
    },
  }
}
