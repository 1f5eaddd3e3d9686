/** The use of a newcomer's link, once: noted with it, so that a form that is sent twice, or again since its answer was lost, leads on as the first one did. */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { createDoneOnce } from '../../src/services/done-once.ts'
import { statements } from '../../src/store/artifacts.ts'
import type { PageCall } from '../pages/index.ts'
import type { AskedNewcomer } from './newcomer-mails.ts'

/** What came of it. */
export interface Use {
  readonly asked: Omit<AskedNewcomer, 'claims' | 'email'>
  /** The id. */
  readonly user: string
  /** Whether the account was made by it. */
  readonly isNew: boolean
}

export interface Uses {
  /** What came of it; that of another click where that was faster, and null where the link is not good any more. */
  use(token: string, use: Use, call: PageCall): Promise<Use | null>
  /** Of this browser, a moment ago; null where there was none. */
  find(token: string, call: PageCall): Promise<Use | null>
}

export function createUses(fastify: FastifyInstance, kind: string): Uses {
  const { browser } = fastify
  const { database, box } = kernelOf(fastify)
  const used = createDoneOnce<Use>(kernelOf(fastify), `used-${kind}`)
  const sentBy = (token: string, call: PageCall) => ({ form: token, browser: browser.id(call) })

  return {
    async use(token, use, call) {
      const sent = sentBy(token, call)
      const isUsed = await database.transaction(async (query) => {
        const [spent] = await query(statements.spend, [kind, box.hashes(token)])
        return spent !== undefined && used.note(query, sent, use)
      })
      return isUsed ? use : used.find(sent)
    },
    find: async (token, call) => used.find(sentBy(token, call)),
  }
}
