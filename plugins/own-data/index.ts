/**
 * What people may do with what is kept of them: `/account/data`, where they download it, and ask for the deletion of their account. When
 * that is due it is done by the janitor, also where this plugin is left out.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { addAdministration } from './administration.ts'
import { addDataPage } from './data-page.ts'
import { addDeletion } from './deletion.ts'
import { addDownload } from './download.ts'
import { addKeepAccount } from './keep-account.ts'
import { addOperations } from './operations.ts'

async function ownData(fastify: FastifyInstance): Promise<void> {
  await addKeepAccount(fastify)
  if (fastify.hasDecorator('admin')) await addAdministration(fastify)
  if (fastify.hasDecorator('adminApi')) addOperations(fastify)
  if (!fastify.hasDecorator('account')) return
  const area = await addDataPage(fastify)
  addDownload(fastify, area)
  await addDeletion(fastify, area)
}

export default fp(ownData, {
  name: 'latchkey-own-data',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-interaction', 'latchkey-pages'],
})
