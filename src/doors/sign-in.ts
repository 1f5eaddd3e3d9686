/** Ways to sign in, each with an element of its own on the one sign-in page. */
import type { Words } from '../protocol/message.ts'
import type { Bag } from '../protocol/bag.ts'
import type { Wire } from '../protocol/wire.ts'
import type { Reach } from './assurance.ts'
import type { Client } from './client.ts'
import type { BrowserCall, Elsewhere, Interaction, Session, StepPage } from './interaction.ts'
import type { User } from './user.ts'

/** A sign-in under way, as a method sees it. */
export interface SignInAsked extends Interaction {
  /** Who has to show once more that it is them; null where anybody may come. */
  readonly known: User | null
  /** The user name to begin with, as the client hinted; `''` for none. */
  readonly hint: string
  /** What `submit` answered last in this interaction, or `interactions.leadBack` brought; undefined before. */
  readonly state: unknown
  /** Where this method's own forms are sent: `submit` gets them. */
  readonly form: ReturnType<Interaction['formFor']>
}

/** What a method has on the sign-in page: a template that `pages.add` knows, without a title, and its model. */
export interface SignInElement {
  readonly part: string
  /** Completed with `action` and `csrfToken` of the method's form. */
  readonly model: Bag
  /** Whether it says that something is wrong; default false. */
  readonly refused?: boolean
  /** Default 200. */
  readonly status?: number
}

/** Who has shown that it is them, and how. */
export interface Proof {
  /** As they were when it was looked at. */
  readonly user: Pick<User, 'id' | 'updatedAt' | 'username'>
  /** RFC 8176. */
  readonly amr: readonly string[]
  readonly acr?: string
  /**
   * Whether what showed it is good once: the same form, sent twice as by a double click, leads to one session, and to no other once that one has
   * ended. A text names what showed it, where other forms may show the same. Default no.
   */
  readonly isOnce?: boolean | string
}

/** A way to sign in; its key is its name in addresses. It is used by clients' requests, our own pages and re-authentication alike. */
export interface SignInMethod {
  /** What its proofs reach. */
  readonly reaches?: Reach
  /**
   * The value of `prompt` by which a client asks for its `page` in the place of the sign-in page, such as `create`; none by default. Its `page` is
   * shown without a `state` then, and a form of its own leads to the sign-in page by one.
   */
  readonly prompt?: string
  /** What it adds to the `autocomplete` of the user name's field, such as `webauthn` for what browsers suggest there; default nothing. */
  readonly autofill?: string
  /**
   * Whether this user, who may sign in, can do so by it without any record of the plugin's (`signsIn`), as by a verified address alone. Then it counts
   * where the last way in must stay. Default no.
   */
  isWayIn?(user: User): boolean
  /** Its element; null where it has none. `typed` is what its form sent, where that had expired. */
  offer(asked: SignInAsked, call: BrowserCall, typed?: Wire): Promise<SignInElement | null>
  /**
   * What a form of its own sent. A proof signs in; `state` is kept with the interaction, encrypted, and leads on to `page`; an element or
   * a page is shown again; `elsewhere` sends the browser to somebody else's page, and whoever comes back from there goes on by
   * `interactions.prove`, or by `interactions.leadBack`. Throws `OAuthError` to end the interaction.
   */
  submit(
    asked: SignInAsked,
    wire: Wire,
    call: BrowserCall,
  ): Promise<{ proof: Proof } | { state: unknown } | Elsewhere | SignInElement | StepPage>
  /** Its own page, as long as it has a `state`. Null for the sign-in page, where `offer` sees the `state` too. */
  page?(asked: SignInAsked, call: BrowserCall): Promise<StepPage | null>
}

/** Somewhere else where whoever signs out here may be signed in; its `name` is its own. */
export interface SignOutWay {
  readonly name: string
  /**
   * The address at which they are signed out there, by which they come back to `next`, a path of ours; null for none. The session here has ended
   * by then. The first way that has an address is gone.
   */
  leave(session: Session, next: string, call: BrowserCall): Promise<string | null>
}

/** A way in which apps hear that somebody has signed out; its `name` is its own. */
export interface SignOutNotice {
  readonly name: string
  /**
   * Whether this client, which had something of the session, is told by it that the session has ended: people read then that it is. Null
   * where it is not. `frame` is the address by which their own browser tells it, in a frame of the page that they are shown.
   */
  tell(client: Client, session: Session): { readonly frame?: string } | null
}

/** A link on the sign-in page, such as one to sign-up; its `name` is the element's id. */
export interface SignInLink {
  readonly name: string
  /** Null for none now. `interaction.address` is the way back. */
  link(interaction: Interaction): Promise<{ readonly text: Words; readonly href: string } | null>
}

/** What is known of a sign-in before it is done. */
export interface SignInWish {
  /** The path below the issuer's to come back to. */
  readonly returnTo: string
  /** Seconds: who signed in longer ago does it once more. */
  readonly maxAge?: number
  /** Whether somebody else is to sign in than who is there. */
  readonly other?: boolean
}
