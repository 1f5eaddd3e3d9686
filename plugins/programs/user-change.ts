/** Changes of a user by a program, who is at the moment of the change as they were when it was judged what may be done to them. */
import { isDeepStrictEqual } from 'node:util'
import type { User } from '../../src/doors/user.ts'
import type { Judge } from '../../src/services/users/update-options.ts'
import { busy, notFound, orGone } from './refusals.ts'

/** They are another than was judged. */
class Changed extends Error {}

const TRIES = 8

/**
 * `find` reads the user as they are now, and throws where nothing may be done to them. `work` has `judge` asked where the change is made, and is
 * asked again where they have changed since. Throws `not_found` also where they are gone by then.
 */
export async function changeUser<T>(
  find: () => Promise<User>,
  work: (user: User, judge: Judge) => Promise<T>,
): Promise<T> {
  for (let tried = 1; ; tried++) {
    const user = await find()
    const judge: Judge = (now) => {
      if (now.id !== user.id) throw notFound('user')
      // All of them: two changes may be of one millisecond.
      if (!isDeepStrictEqual(now, user)) throw new Changed()
    }
    try {
      return await work(user, judge)
    } catch (error) {
      if (error instanceof Changed && tried < TRIES) continue
      throw error instanceof Changed ? busy('the user') : await orGone(error, find)
    }
  }
}
