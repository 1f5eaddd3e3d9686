/** What each page is given. The plugin that answers with a page fills its model; `templates/` decides how it looks. */
import type { Words } from '../../src/protocol/message.ts'
import type { DescribedScope } from './scope-words.ts'

/** Every page by its name. A plugin with pages of its own merges them in, and registers them by `pages.add`. */
export interface Pages {
  login: LoginPage
  consent: ConsentPage
  error: ErrorPage
  'sign-out': SignOutPage
  'signed-out': SignedOutPage
  'signing-out': SigningOutPage
  /** By which apps are told; a part of pages. */
  'sign-out-frames': Pick<SignedOutPage, 'frames'>
  'form-post': FormPostPage
  home: HomePage
  setup: SetupPage
  'setup-done': { username: string; continueUri: string; continueText: Words }
  'new-password': NewPassword
  confirm: ConfirmPage
  'page-message': MessagePage
  /** Lets people see what they type; a part of pages. */
  'password-script': Record<string, never>
  /** How long whoever has tried too often waits: stands in the alert; a part of pages. */
  wait: Wait
}

/** A form of ours: where it is posted to, and the token that proves it came from our page (field `csrf_token`). */
export interface FormTarget {
  action: string
  csrfToken: string
}

/** Who is signed in, as the top of a page names them, and the form that signs them out. */
export interface Person {
  name: string
  signOut: FormTarget
}

/** What was done, or is so: pages show each kind in colours of its own, and with a sign of its own. */
export interface Notice {
  kind: 'success' | 'notice'
  text: Words
}

/** A client as people see it. */
export interface ClientView {
  name: string
  /** What one that has registered itself calls itself, and nobody has checked; null for others, and for none. */
  claim: string | null
  /** The host that people will be sent to; null where there is none to show. */
  host: string | null
  /** Loaded from the client's own origin, which the page's policy then allows. */
  logoUri: string | null
  policyUri: string | null
  tosUri: string | null
  homeUri: string | null
}

export interface LoginPage {
  client: ClientView
  /** What each way to sign in has on the page, with the model of its template. */
  elements: readonly { part: string; model: object }[]
  links: readonly { id: string; text: Words; href: string }[]
  /** One of them says that something is wrong. */
  refused: boolean
  /** Somebody is signed in, and has to show once more that it is them. */
  reauthenticate: boolean
  /** Who that is. */
  knownUser: string | null
}

export interface ConsentPage extends FormTarget {
  client: ClientView
  user: { username: string; name: string | null }
  /** For who is not that user; null where the request is for nobody else. */
  notYou: FormTarget | null
  /** Null where the answer takes the browser nowhere. */
  redirectHost: string | null
  /** The redirect stays on this device: loopback, or a scheme of an app's own (RFC 8252 §8.6). */
  onThisDevice: boolean
  /** What is asked for, `openid` left out: it says nothing to people. */
  scopes: readonly ConsentScope[]
  details: { clientId: string; redirectUri: string | null; registeredAt: Date | null }
  /** What people must know before they decide. */
  notices: readonly Words[]
  /** What the app shows people too, so that they know which request it is; null for none. */
  bindingMessage: string | null
  /** What parameters ask for beside scopes. */
  lines: readonly ConsentText[]
}

export interface ConsentScope extends DescribedScope {
  /** For one that may be left out: the name of its field, and whether it is on at first. Null for all others. */
  box: { name: string; ticked: boolean } | null
  /** Not allowed before. */
  isNew: boolean
}

export interface ConsentText {
  text: Words
  /** Not allowed before. */
  isNew: boolean
}

export interface ErrorPage {
  status: number
  code: string
  /** For the developer of the client. */
  description: string
  requestId: string
  time: Date
  detail: readonly { name: string; value: string }[]
  /** Where people can go on, the best first; without any it is the home page. */
  ways: readonly Way[]
  /** What people are told instead of what the status says; null for that. */
  words: { title: Words; text: Words } | null
  /** Who is signed in, where that is the reason; null elsewhere. */
  who: string | null
  /** Shows the page again from which a form came, with what was typed; null where there is none. */
  again: { action: string; fields: Readonly<Record<string, string>> } | null
  /** Lets who is signed in leave, where an app could not ask for it. */
  offersSignOut: boolean
}

/** A way on from an error. */
export interface Way {
  uri: string
  text: Words
}

export interface SignOutPage extends FormTarget {
  client: ClientView | null
  user: string | null
  /** Hidden fields. */
  fields: Readonly<Record<string, string>>
}

export interface SignedOutPage {
  /** Null where there is no page to begin at. */
  homeUri: string | null
  /** Those that are told. */
  apps: readonly string[]
  /** Addresses that the browser loads, by which some of them are. */
  frames: readonly string[]
}

/** On the way on, once the frames are there. */
export interface SigningOutPage extends Omit<SignedOutPage, 'homeUri'> {
  next: string
}

/** A response that the browser posts to the client (OAuth 2.0 Form Post Response Mode). */
export interface FormPostPage {
  action: string
  fields: Readonly<Record<string, string>>
}

export interface HomePage {
  issuer: string
  discoveryUri: string
  user: { username: string; name: string | null } | null
  development: boolean
  links: readonly { title: Words; href: string; text: Words }[]
}

/** The first administrator, by the one-time link. */
export interface SetupPage extends FormTarget {
  /** What is not done yet; null for nothing. */
  notice: Notice | null
  /** `''` asks for it in a field. */
  token: string
  values: { username: string; name: string; email: string }
  /** By the field's name; `form` for what belongs to none. */
  errors: Readonly<Record<string, Words>>
  passwordMinLength: number
}

/** Where whoever has a one-time link sets a password. */
export interface NewPassword extends FormTarget {
  /** Of the form and its button; null for a button that has none. */
  ids: { form: string; button: string | null }
  /** What the link is, and what comes of the password. */
  lead: Words
  token: string
  username: string
  error: Words | null
  passwordMinLength: number
}

/** A link from a mail: what it does is done by the button alone, since programs open links that stand in mails. */
export interface ConfirmPage extends FormTarget {
  token: string
  title: Words
  text: Words
  button: Words
}

/** `id` is that of the seconds. The button of the form whose field the alert describes does nothing until then. */
export interface Wait {
  seconds: number
  until: Date
  id: string
}

export interface MessagePage {
  title: Words
  text: Words
  primary: { href: string; text: Words } | null
}
