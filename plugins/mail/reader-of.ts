/** Who reads a mail that goes to a user, also where no plugin says in which language pages are. */
import type { FastifyInstance } from 'fastify'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import type { User } from '../../src/doors/user.ts'
import { chosenBy, type Reader } from '../../src/services/languages/languages.ts'

/** `cause` is the call that causes the mail, or the languages in which that was read, with spaces: where it is theirs. */
export async function readerOf(
  fastify: FastifyInstance,
  user: Pick<User, 'claims'>,
  cause?: BrowserCall | string,
): Promise<Reader> {
  return fastify.hasDecorator('language') ? fastify.language.readerOf(user, cause) : chosenBy(user)
}
