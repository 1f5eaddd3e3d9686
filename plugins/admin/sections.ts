/** The door `fastify.admin`: sections of plugins in the administration, behind its guard. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Session } from '../../src/doors/interaction.ts'
import type { User } from '../../src/doors/user.ts'
import type { Words } from '../../src/protocol/message.ts'
import type { Section } from '../pages/areas.ts'
import type { PageCall, ServePage } from '../pages/index.ts'
import type { FormTarget } from '../pages/models.ts'

/** A page of a plugin's own, with a link on all others. */
export interface AdminSection extends Section {
  /** What the link stands among: the apps, the people, or what runs the server, which is the default. */
  readonly group?: AdminGroup | undefined
}
export type AdminGroup = 'apps' | 'people' | 'server'

/** What pages of a section are made with. */
export interface AdminArea {
  /** Serves a page behind the guard; its `path` is below the issuer. */
  readonly serve: ServePage
  /** Whom the guard let in; throws for a request that it has not seen. */
  administratorOf(request: FastifyRequest): Administrator
  /** The address of a page, `path` being below `/admin`. */
  uri(path: string, query?: Readonly<Record<string, string>>): string
  /** The page of a user. */
  userUri(id: string): string
  /** A form that is sent to `path`, and is about `subject` alone, in this administrator's session. */
  target(call: PageCall, path: string, subject: string): FormTarget
  /** Begins every submit: throws unless the form is one that `target` made for the same. */
  assertGenuine(call: PageCall, path: string, subject: string): Administrator
  /**
   * Before what a browser that was left open must not do: undefined for who has signed in a moment ago. Others sign in
   * once more, come to `page`, and ask again; nothing is done yet. Where `page` is the one that the form stands on, and can show it
   * (`again`), what they typed stands there.
   */
  signInAgain(call: PageCall, page: string): FastifyReply | undefined
}

/** Who came through the guard. */
export interface Administrator {
  readonly user: User
  readonly session: Session
}

/** What a plugin adds to the page of a user. */
export interface UserPart {
  /** The plugin's own, among the parts. */
  readonly name: string
  /** A template that `pages.add` knows, without a title: a `section`, with a heading of the second level. */
  readonly part: string
  /** What the template reads, of this user; null for no part. `call.wire` is what the page was asked with. */
  model(user: User, call: PageCall): Promise<object | null>
}

/** What becomes of a user who was registered without a password, beside a link that is shown: a button of its own in the form. */
export interface NewUserWay {
  /** Of the button. */
  readonly id: string
  readonly text: Words
  /** Whether there is a button now. */
  isOn(): boolean
  /** Why it cannot be done for somebody with this address, which may be `''`; undefined where it can. Asked before anybody is registered. */
  refusalOf(email: string): Promise<Words | undefined>
  /** Answers, once the user is registered. */
  submit(user: User, call: PageCall): Promise<FastifyReply>
  /**
   * Answers the same form that comes again, as its answer was lost: it may still be under way, or have been cut off before `submit` did what it
   * does. By default that leads to the page of the user.
   */
  again?(user: User, call: PageCall): Promise<FastifyReply>
}

export interface AdminDoors {
  /** Adds a section while the server starts. Throws `ConfigError` for a text or path that is taken. */
  addSection(section: AdminSection): AdminArea
  /** Adds a part to the page of each user while the server starts, in the order of registration. Throws `ConfigError` for a name that is taken. */
  addUserPart(part: UserPart): AdminArea
  /** Adds a way to go on from registering a user while the server starts. Throws `ConfigError` for an id that is taken. */
  addNewUserWay(way: NewUserWay): AdminArea
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Not there where the plugin `latchkey-admin` is left out. */
    admin: AdminDoors
  }
}
