/**
 * Has a code mailed. Whether anybody gets it is found out behind the request, so that its answer, its time and its statements are the same
 * for all.
 */
import type { FastifyInstance } from 'fastify'
import type { SignInAsked } from '../../src/doors/sign-in.ts'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import { Type } from '../../src/protocol/schema.ts'
import { isOurs } from '../../src/services/users/ourselves.ts'
import { ASKED_MAILS } from '../mail/asked-mails.ts'
import { askingFor, ofAddress } from '../mail/whose.ts'
import { clientView } from '../pages/client-view.ts'
import { endOf, type MailCodes, type Opened } from './codes.ts'
import { codeLetter } from './letter.ts'

/** A code is on its way to who has the address, if anybody has. Throws 429 for who has to wait, and 503 where too much waits to be sent. */
export type SendCode = (asked: SignInAsked, email: string, call: BrowserCall) => Promise<Opened>

const KIND = 'mail-code'
/** Characters of what a browser says of itself. */
const MAX_USER_AGENT = 512

export function createSendCode(fastify: FastifyInstance, codes: MailCodes): SendCode {
  const { oauth, language, letters } = fastify
  const { users } = oauth
  const throttle = oauth.throttle('mail-code-sending', { ...ASKED_MAILS, ownerOf: ofAddress(fastify) })

  oauth.deliver({
    kind: KIND,
    payload: Type.Object({
      interaction: Type.String(),
      nonce: Type.String(),
      email: Type.String(),
      app: Type.Optional(Type.String()),
      userAgent: Type.Optional(Type.String()),
      address: Type.String(),
      sentAt: Type.Number(),
      locales: Type.String(),
    }),
    async deliver({ interaction, nonce, email, locales, ...about }) {
      const user = await users.findByEmail(email)
      const digits = user && (await codes.digitsFor(interaction, { email, nonce }, user))
      if (user === null || digits === null) return
      const { username } = user
      const letter = codeLetter({ ...about, digits, username, issuer: oauth.issuer, until: endOf(about) })
      await letters.send(String(user.claims['email']), letter, await language.readerOf(user, locales))
      oauth.audit.observe({ type: 'user.sign_in_code_sent', user: user.id, details: {} })
    },
  })

  async function enqueue({ id, request }: SignInAsked, opened: Opened, call: BrowserCall): Promise<void> {
    const { tags } = await language.reader(call)
    const { ip, headers } = call.request
    const userAgent = headers['user-agent']?.slice(0, MAX_USER_AGENT)
    await oauth.enqueue(KIND, {
      interaction: id,
      nonce: opened.nonce,
      email: opened.email,
      ...(isOurs(request) ? {} : { app: clientView(request).name }),
      ...(userAgent === undefined ? {} : { userAgent }),
      address: ip,
      sentAt: opened.sentAt,
      locales: tags.join(' '),
    })
  }

  return async (asked, email, call) => {
    const found = await codes.find(asked.id, email)
    if (found !== null) return found
    const { account, mark } = await askingFor(fastify, email, call.request)
    const attempt = await throttle.attempt(account, call.request.ip, mark)
    await attempt.failed()
    const opened = await codes.open(asked.id, email)
    if (!opened.isNew) return opened
    try {
      await enqueue(asked, opened, call)
    } catch (error) {
      await codes.close(asked.id, opened)
      throw error
    }
    return opened
  }
}
