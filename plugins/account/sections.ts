/** The door `fastify.account`: sections of plugins on the account, behind its guard, with forms that their user alone can send. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Session } from '../../src/doors/interaction.ts'
import type { User } from '../../src/doors/user.ts'
import type { Section } from '../pages/areas.ts'
import type { PageCall, ServePage } from '../pages/index.ts'
import type { FormTarget } from '../pages/models.ts'

export interface AccountSection extends Section {
  /** What the overview says of it to this user. */
  about(call: PageCall): Promise<string>
}

/** What pages of a section are made with. */
export interface AccountArea {
  /** Serves a page behind the guard; its `path` is below the issuer. */
  readonly serve: ServePage
  /** Whom the guard let in; throws for a request that it has not seen. */
  sessionOf(request: FastifyRequest): Session
  /** As they are now, whatever other processes did. */
  userOf(call: PageCall): Promise<User>
  /** The address of a page, `path` being below `/account`. */
  uri(path: string, query?: Readonly<Record<string, string>>): string
  /** A form that is sent to `path`, and is about `subject` alone, in this session. */
  target(call: PageCall, path: string, subject?: string): FormTarget
  /** Begins every submit: throws unless the form is one that `target` made for the same. */
  assertGenuine(call: PageCall, path: string, subject?: string): Session
  /**
   * Before what a browser that was left open must not do: undefined for who has signed in a moment ago. Others sign in once more, and
   * come to `page`; nothing is done yet.
   */
  signInAgain(call: PageCall, page: string): FastifyReply | undefined
}

export interface AccountDoors {
  /** Adds a section while the server starts. Throws `ConfigError` for a text or path that is taken. */
  addSection(section: AccountSection): AccountArea
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Not there where the plugin `latchkey-account` is left out. */
    account: AccountDoors
  }
}
