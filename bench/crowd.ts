// Owns people who sign in again and again, each with a fresh browser and the right password.

import { passPages, type UserClient } from './user-client.ts'

export interface Crowd {
  /** Somebody has signed in, and everybody else is in line. */
  underway: Promise<void>
  /** How many sign-ins there were. */
  count: () => number
  end: () => Promise<void>
}

export function startCrowd(people: readonly UserClient[]): Crowd {
  let signedIn = 0
  const closing = new AbortController()
  const { promise: underway, resolve, reject } = Promise.withResolvers<void>()
  const busy = Promise.all(
    people.map(async (person) => {
      while (!closing.signal.aborted) {
        await passPages(person)
        signedIn++
        resolve()
      }
    }),
  )
  // Later than the first sign-in, an error is reported when the crowd ends.
  busy.catch(reject)
  return {
    underway,
    count: () => signedIn,
    end: async () => {
      closing.abort()
      await busy
    },
  }
}
