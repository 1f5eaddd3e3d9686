import type { BrowserSignIn } from './signed-in.ts'

/** For a sign-in by what is good once, and is no form of a step: `shown` names it, wherever it is shown, and leads to one session. */
export function shownOnce(shown: string): Required<Pick<BrowserSignIn, 'form' | 'once'>> {
  return { form: { shown }, once: `shown ${shown}` }
}
