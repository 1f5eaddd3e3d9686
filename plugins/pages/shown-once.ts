/** Carries a new secret from the form that made it to the page that shows it, once: sealed, for one session, not for long. */
import type { FastifyReply } from 'fastify'
import type { Session } from '../../src/doors/interaction.ts'
import { lookAgain } from '../../src/http/look-again.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { Kernel } from '../../src/services/kernel.ts'

/** Who made it, and may see it. */
interface Viewer {
  readonly session: Pick<Session, 'sid'>
}

export interface ShownOnce {
  /**
   * `subject` is whose it is. Returns the handle by which the page takes it: 256 random bits, unless one is given, under which the same form has put
   * nothing before, as for somebody who was deleted since.
   */
  put(subject: string, secret: string, viewer: Viewer, handle?: string): Promise<string>
  /** The same handle for a form that is sent twice, so that either answer leads to what it made. */
  handleOf(viewer: Viewer, wire: Wire): string
  /** Waits for the form that came first, which puts it at this moment: for a second. False where it has not, or it was shown already. */
  untilPut(handle: string): Promise<boolean>
  /** Null when it was shown, is too old, or was another's. */
  take(handle: string, viewer: Viewer): Promise<{ subject: string; secret: string } | null>
}

interface Kept {
  subject: string
  sid: string
  sealed: string
}

/** Until the form that came first has put what it makes: a second. */
const LOOKS = 20
/** Seconds for which it can be shown. */
export const SHOWN_FOR = 300
const HANDLE = /^[A-Za-z0-9_-]{43}$/

/** The page where a secret was shown before: `text` says how to get another. */
export function notShownAgain(
  reply: FastifyReply,
  text: Words,
  primary: { href: string; text: Words },
): FastifyReply {
  return reply.page('page-message', { title: message('Not shown again'), text, primary }, { status: 410 })
}

/** A handle of one `kind` is none of another. */
export function createShownOnce({ artifacts, box }: Kernel, kind: string): ShownOnce {
  const kept = artifacts<Kept>(kind, { lifetime: SHOWN_FOR })
  const contextOf = ({ subject, sid }: Pick<Kept, 'subject' | 'sid'>): string =>
    `shown once\0${subject}\0${sid}`

  return {
    async put(subject, secret, { session: { sid } }, handle) {
      const value = { subject, sid, sealed: box.seal(secret, contextOf({ subject, sid })) }
      const isPut = handle !== undefined && (await kept.put(value, { handle })) !== false
      return isPut ? handle : kept.put(value)
    },
    handleOf: ({ session: { sid } }, wire) =>
      box.hash(`${kind} by\0${sid}\0${JSON.stringify(wire)}`).split('.')[1]!,
    async untilPut(handle) {
      const look = async () => ((await kept.get(handle)) === null ? undefined : true)
      return (await lookAgain(LOOKS, look)) ?? false
    },
    async take(handle, { session }) {
      const found = HANDLE.test(handle) ? await kept.get(handle) : null
      if (found?.sid !== session.sid || (await kept.spend(handle)) === null) return null
      return { subject: found.subject, secret: box.open(found.sealed, contextOf(found)) }
    },
  }
}
