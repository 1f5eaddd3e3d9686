/** What people read of a sign-in by an upstream that did not get through, each as a whole sentence or two. */
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'
import type { Failure } from './provider.ts'

/** Why the sign-in page is shown again. */
export type Reason =
  | Failure
  | 'unlinked'
  | 'taken'
  | 'disabled'
  | 'other person'
  | 'stale'
  | 'unknown address'

const SENTENCES: Readonly<Record<Reason, (name: string) => string>> = {
  denied: (name) => `You did not sign in at ${name}. Try again, or sign in another way.`,
  unreachable: (name) =>
    `${name} does not answer at this moment. Try again in a few minutes, or sign in another way.`,
  unusable: (name) =>
    `We could not read the answer of ${name}. Try again, or sign in another way. If it goes on, tell those who run this service.`,
  unlinked: (name) =>
    `Your sign-in at ${name} is not linked with an account here. Sign in another way, and link it on the page Security of your account.`,
  taken: (name) =>
    `There is an account here already with your name or address of ${name}. Sign in to it another way, and link ${name} on its page Security.`,
  disabled: (name) =>
    `The account here that your sign-in at ${name} is linked with is disabled. Ask those who run this service.`,
  'other person': (name) =>
    `At ${name} you signed in as somebody else than here. Choose the same person there, or sign out here first.`,
  stale: (name) =>
    `${name} did not ask you again who you are. Sign out there, and try again, or confirm it another way.`,
  'unknown address': () =>
    'There is no sign-in for this address here. Check how it is written, or sign in another way.',
}

export function sentenceOf(reason: Reason, name: string): string {
  return SENTENCES[reason](name)
}

export function isReason(value: unknown): value is Reason {
  return typeof value === 'string' && Object.hasOwn(SENTENCES, value)
}

/** What it is called. */
export function nameOf({ name, issuer }: UpstreamInformation): string {
  return name ?? new URL(issuer).host
}
