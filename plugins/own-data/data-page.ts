/** `/account/data`: what people may do with what is kept of them. */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { AccountArea } from '../account/sections.ts'
import { graceOf, inWords } from './grace.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'account-data': DataPage
  }
}

interface DataPage {
  downloadUri: string
  /** Null where nobody can ask for it. */
  deleteUri: string | null
  /** Until it is done, in words. */
  grace: string
}

/** Below `/account`. */
export const DATA = '/data'
export const DOWNLOAD = `${DATA}/download`
export const DELETE = `${DATA}/delete`

/** Serves the page, and returns what those that it leads to are made with. */
export async function addDataPage(fastify: FastifyInstance): Promise<AccountArea> {
  const { account, pages } = fastify
  const days = graceOf(kernelOf(fastify).config)
  const canDelete = days !== null
  await pages.add('account-data', new URL('../../templates/account-data.eta', import.meta.url))
  const area = account.addSection({
    text: 'Your data',
    path: DATA,
    about: async () =>
      canDelete ? 'Download it, or delete your account.' : 'What is kept of you, as a file.',
  })
  area.serve({
    path: `/account${DATA}`,
    query: Type.Object({}),
    show: async (_query, call) =>
      call.reply.page('account-data', {
        downloadUri: area.uri(DOWNLOAD),
        deleteUri: canDelete ? area.uri(DELETE) : null,
        grace: canDelete ? inWords(days) : '',
      }),
  })
  return area
}
