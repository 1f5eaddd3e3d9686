/** The door `fastify.account`: sections of plugins on the account, behind its guard, with forms that their user alone can send. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Session } from '../../src/doors/interaction.ts'
import type { User } from '../../src/doors/user.ts'
import type { Words } from '../../src/protocol/message.ts'
import type { Section } from '../pages/areas.ts'
import type { PageCall, ServePage } from '../pages/index.ts'
import type { FormTarget } from '../pages/models.ts'

export interface AccountSection extends Section {
  /** What the overview says of it to this user. */
  about(call: PageCall): Promise<Words>
}

/** What a plugin adds to the page "Security": a factor, another way to sign in. */
export interface SecurityPart {
  /** The plugin's own, among the parts. */
  readonly name: string
  /** A template that `pages.add` knows, without a title: a `section`, with a heading of the second level. */
  readonly part: string
  /** What the template reads, of this user; `call.wire` is the query that the page was opened with. */
  model(call: PageCall): Promise<object>
  /** What this user does well to do about it; null for nothing. */
  nextStep?(call: PageCall): Promise<NextStep | null>
}

/** What a plugin says at the top of the overview, to whom it concerns. */
export interface OverviewNotice {
  /** The plugin's own, among the notices. */
  readonly name: string
  /** A template that `pages.add` knows, without a title: a `section`, with a heading of the second level. */
  readonly part: string
  /** What the template reads, of this user; null where there is nothing to say. */
  model(call: PageCall): Promise<object | null>
}

/** One sentence, which is a link to where it is done. */
export interface NextStep {
  readonly text: Words
  readonly href: string
}

/** What pages of a section are made with. */
export interface AccountArea {
  /** Serves a page behind the guard; its `path` is below the issuer. */
  readonly serve: ServePage
  /** Whom the guard let in; throws for a request that it has not seen. */
  sessionOf(request: FastifyRequest): Session
  /** As they are now, whatever other processes did. */
  userOf(call: PageCall): Promise<User>
  /** The address of a page, `path` being below `/account`; with `part`, the id of an element, it opens there. */
  uri(path: string, query?: Readonly<Record<string, string>>, part?: string): string
  /** A form that is sent to `path`, and is about `subject` alone, in this session. */
  target(call: PageCall, path: string, subject?: string): FormTarget
  /** Begins every submit: throws unless the form is one that `target` made for the same. */
  assertGenuine(call: PageCall, path: string, subject?: string): Session
  /**
   * Before what a browser that was left open must not do: undefined for who has signed in a moment ago. Others sign in once more, and
   * come to `page`; nothing is done yet. Where `page` is the one that the form stands on, and can show it (`again`), what they typed stands
   * there.
   */
  signInAgain(call: PageCall, page: string): FastifyReply | undefined
}

export interface AccountDoors {
  /** Adds a section while the server starts. Throws `ConfigError` for a text or path that is taken. */
  addSection(section: AccountSection): AccountArea
  /**
   * Adds a part to the page `/account/security` while the server starts: below the password, in the order of registration. The page ends
   * with the first next step that a part has. Throws `ConfigError` for a name that is taken.
   */
  addSecurity(part: SecurityPart): AccountArea
  /** Adds a notice to the overview while the server starts. Throws `ConfigError` for a name that is taken. */
  addNotice(notice: OverviewNotice): AccountArea
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Not there where the plugin `latchkey-account` is left out. */
    account: AccountDoors
  }
}
