/** What people read of a sign-in by an upstream that did not get through, each as a whole sentence or two. */
import { message, type Message } from '../../src/protocol/message.ts'
import { APPLE, GITHUB } from '../../src/protocol/upstream-kinds.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'
import type { Failure } from './failures.ts'

/** Why the sign-in page is shown again. */
export type Reason =
  | Failure
  | 'unlinked'
  | 'taken'
  | 'disabled'
  | 'full'
  | 'other person'
  | 'stale'
  | 'too often'
  | 'unknown address'

const SENTENCES: Readonly<Record<Reason, (name: string) => Message>> = {
  denied: (name) => message('You did not sign in at {name}. Try again, or sign in another way.', { name }),
  unreachable: (name) =>
    message('{name} does not answer at this moment. Try again in a few minutes, or sign in another way.', {
      name,
    }),
  unusable: (name) =>
    message(
      'We could not read the answer of {name}. Try again, or sign in another way. If it goes on, tell those who run this service.',
      { name },
    ),
  unlinked: (name) =>
    message(
      'Your sign-in at {name} is not linked with an account here. Sign in another way, and link it on the page Security of your account.',
      { name },
    ),
  taken: (name) =>
    message(
      'There is an account here already with your name or address of {name}. Sign in to it another way, and link {name} on its page Security.',
      { name },
    ),
  disabled: (name) =>
    message(
      'The account here that your sign-in at {name} is linked with is disabled. Ask those who run this service.',
      { name },
    ),
  full: (name) =>
    message(
      'The account here with your address of {name} has as many linked sign-ins as there can be. Sign in to it another way, and unlink one on its page Security.',
      { name },
    ),
  'other person': (name) =>
    message(
      'At {name} you signed in as somebody else than here. Choose the same person there, or sign out here first.',
      { name },
    ),
  stale: (name) =>
    message(
      '{name} did not ask you again who you are. Sign out there, and try again, or confirm it another way.',
      { name },
    ),
  'too often': (name) =>
    message(
      'There were too many tries with your address of {name}. Wait ten minutes, and try again, or sign in another way.',
      { name },
    ),
  'unknown address': () =>
    message('There is no sign-in for this address here. Check how it is written, or sign in another way.'),
}
const GONE = message('That sign-in is not offered here any more. Sign in another way.')

/** `upstream` is undefined for one that is not registered any more, and where none was found. */
export function explain(reason: Reason, upstream: UpstreamInformation | undefined): Message {
  if (upstream === undefined && reason !== 'unknown address') return GONE
  return SENTENCES[reason](upstream === undefined ? '' : nameOf(upstream))
}

export function isReason(value: unknown): value is Reason {
  return typeof value === 'string' && Object.hasOwn(SENTENCES, value)
}

/** That an app wants a sign-in to be of now, and these cannot say when theirs was. */
export function cannotAsk(upstreams: readonly UpstreamInformation[]): Message {
  return message(
    'This app asks you to sign in anew, and {names} cannot tell us that you did. Sign in another way.',
    { names: upstreams.map(nameOf) },
  )
}

/** What everybody calls them. */
const NAMES: ReadonlyMap<string, string> = new Map([
  [GITHUB, 'GitHub'],
  [APPLE, 'Apple'],
])

/** What it is called. */
export function nameOf({ name, issuer }: UpstreamInformation): string {
  return name ?? NAMES.get(issuer) ?? new URL(issuer).host
}

/** What the upstream of an issuer is called; of one that is not registered any more, its host. */
export function nameIn(all: readonly UpstreamInformation[], issuer: string): string {
  const found = all.find((one) => one.issuer === issuer)
  return found === undefined ? new URL(issuer).host : nameOf(found)
}
