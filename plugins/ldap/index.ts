/**
 * Sign-in by an LDAP directory, where LDAP_URL names one: people type their user name and password on our own page, and the directory is asked
 * by a bind. The password is neither stored nor logged (docs/ldap.md).
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { PasswordSource } from '../../src/doors/password-source.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { ldapConfig } from '../../src/settings/ldap.ts'
import { addAdministration } from './administration.ts'
import { DirectoryFailure } from './connection.ts'
import { createDirectory, type Directory } from './directory.ts'
import { OWNED } from './entry.ts'
import { createGuesses } from './guesses.ts'
import { createLinks, linkOfUser, type Links } from './links.ts'
import { createPeople, type People } from './people.ts'
import { createPresence, type Presence } from './presence.ts'
import { KEPT, NO_ANSWER, REFUSALS } from './words.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** For commands. Not there where no directory is named, or the plugin `latchkey-ldap` is left out. */
    ldap: {
      readonly directory: Directory
      readonly people: People
      readonly presence: Presence
      readonly links: Links
    }
  }
}

/** Seconds. */
const COME_BACK = 60

async function ldap(fastify: FastifyInstance): Promise<void> {
  const config = ldapConfig(kernelOf(fastify).config)
  if (config === null) return
  const directory = createDirectory(config, fastify.log)
  const links = createLinks(fastify)
  const guesses = createGuesses(fastify, config, links)
  const people = createPeople(fastify, config, links)
  const presence = createPresence(fastify, { config, directory, links, people })
  fastify.decorate('ldap', { directory, people, presence, links })

  const source: PasswordSource = {
    async check({ username, password }, browser) {
      const guess = guesses.of(username, browser)
      try {
        const person = await directory.authenticate(username, password, guess.mayReach)
        if (person === null) return null
        await guess.forgive()
        if (person === 'expired') return { refused: REFUSALS.expired }
        const account = await people.admit(person)
        if ('refused' in account) return { refused: REFUSALS[account.refused] }
        presence.note(account.user.id)
        return account
      } catch (error) {
        if (!(error instanceof DirectoryFailure)) throw error
        if (error.failure !== 'silent') await guess.giveBack()
        const level = error.failure === 'unusable' ? 'error' : 'warn'
        fastify.log[level]({ why: error.message }, 'the directory cannot be asked')
        return { refused: NO_ANSWER, status: 503, seconds: COME_BACK }
      }
    },
    keeps: async (userId) =>
      (await linkOfUser(links, userId)) === null
        ? null
        : { password: KEPT, changeUri: config.passwordUrl, claims: OWNED },
    isThere: presence.isThere,
  }
  fastify.oauth.register('passwordSource', 'ldap', source)
  fastify.oauth.add('policy', async ({ subject }) => {
    if (subject !== undefined && !(await presence.isThere(subject)))
      throw new OAuthError('invalid_grant', 'the user is not in the directory any more')
  })
  if (fastify.hasDecorator('admin')) await addAdministration(fastify, config, links)
}

export default fp(ldap, { name: 'latchkey-ldap', dependencies: ['latchkey-oauth'] })
