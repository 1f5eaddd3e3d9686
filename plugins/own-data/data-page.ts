/** `/account/data`: what people may do with what is kept of them. */
import type { FastifyInstance } from 'fastify'
import { Type } from '../../src/protocol/schema.ts'
import type { AccountArea } from '../account/sections.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'account-data': DataPage
  }
}

interface DataPage {
  downloadUri: string
}

/** Below `/account`. */
export const DATA = '/data'
export const DOWNLOAD = `${DATA}/download`

/** Serves the page, and returns what those that it leads to are made with. */
export async function addDataPage({ account, pages }: FastifyInstance): Promise<AccountArea> {
  await pages.add('account-data', new URL('../../templates/account-data.eta', import.meta.url))
  const area = account.addSection({
    text: 'Your data',
    path: DATA,
    about: async () => 'What is kept of you, as a file.',
  })
  area.serve({
    path: `/account${DATA}`,
    query: Type.Object({}),
    show: async (_query, call) => call.reply.page('account-data', { downloadUri: area.uri(DOWNLOAD) }),
  })
  return area
}
