/** Which apps hear that a session has ended, and by which frames of the page that says so. */
import type { FastifyInstance } from 'fastify'
import type { Session } from '../../../src/doors/interaction.ts'
import type { EndedClient } from '../../../src/events.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { faceOf } from '../../pages/client-view.ts'

export interface Told {
  /** The apps, as people know them. */
  readonly apps: readonly string[]
  /** What their browser loads to tell them. */
  readonly frames: readonly string[]
}

/** More make a page that nobody waits for, and a header that proxies refuse. */
const MOST_FRAMES = 30

export const NOBODY: Told = { apps: [], frames: [] }

export function createTold(
  fastify: FastifyInstance,
): (ended: readonly EndedClient[], session: Session) => Promise<Told> {
  const { oauth } = fastify
  const { doors } = kernelOf(fastify)

  return async (ended, session) => {
    const notices = doors.all('signOutNotice')
    const apps: string[] = []
    const frames: string[] = []
    for (const { client: clientId } of notices.length === 0 ? [] : ended) {
      const client = await oauth.findClient(clientId)
      if (client === null) continue
      const told = notices.map((notice) => notice.tell(client, session)).filter((one) => one !== null)
      const framed = told.flatMap(({ frame }) => frame ?? [])
      const fits = frames.length + framed.length <= MOST_FRAMES
      if (fits) frames.push(...framed)
      if (fits ? told.length > 0 : told.length > framed.length) apps.push(faceOf(client).name)
    }
    return { apps, frames }
  }
}
