/** What people may do with what is kept of them: `/account/data`, where they download it. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { addDataPage } from './data-page.ts'
import { addDownload } from './download.ts'

async function ownData(fastify: FastifyInstance): Promise<void> {
  if (!fastify.hasDecorator('account')) return
  const area = await addDataPage(fastify)
  addDownload(fastify, area)
}

export default fp(ownData, {
  name: 'latchkey-own-data',
  dependencies: ['latchkey-oauth', 'latchkey-pages'],
})
