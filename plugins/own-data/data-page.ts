/** `/account/data`: what people may do with what is kept of them. */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { AccountArea } from '../account/sections.ts'
import { graceOf } from './grace.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'account-data': DataPage
  }
}

interface DataPage {
  downloadUri: string
  /** Where it is asked for, and the days until it is done; null where nobody can. */
  deletion: { uri: string; days: number } | null
}

/** Below `/account`. */
export const DATA = '/data'
export const DOWNLOAD = `${DATA}/download`
export const DELETE = `${DATA}/delete`

/** Serves the page, and returns what those that it leads to are made with. */
export async function addDataPage(fastify: FastifyInstance): Promise<AccountArea> {
  const { account, pages } = fastify
  const days = graceOf(kernelOf(fastify).config)
  await pages.add('account-data', new URL('../../templates/account-data.eta', import.meta.url))
  const area = account.addSection({
    text: message('Your data'),
    path: DATA,
    about: async () =>
      days === null
        ? message('What is kept of you, as a file.')
        : message('Download it, or delete your account.'),
  })
  area.serve({
    path: `/account${DATA}`,
    query: Type.Object({}),
    show: async (_query, call) =>
      call.reply.page('account-data', {
        downloadUri: area.uri(DOWNLOAD),
        deletion: days === null ? null : { uri: area.uri(DELETE), days },
      }),
  })
  return area
}
