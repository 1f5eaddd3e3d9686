/** Streams in the administration: a section of their own, with a list and a page of each. */
import type { FastifyInstance } from 'fastify'
import { LIST, SECTION } from './admin-places.ts'
import { addStreamActions } from './admin-stream-actions.ts'
import { addStreamPage, type StreamPageParts } from './admin-stream.ts'
import { addStreamList } from './admin-streams.ts'

export async function addAdministration(fastify: FastifyInstance, parts: StreamPageParts): Promise<void> {
  const area = fastify.admin.addSection({ text: SECTION, path: LIST, group: 'apps' })
  await addStreamList(fastify, area, parts)
  await addStreamPage(fastify, area, parts)
  await addStreamActions(fastify, area, parts)
}
