/** The directories that know a user, on their page in the administration: whoever changes somebody there sees who will change them back. */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { AdminArea } from '../admin/sections.ts'
import { faceOf } from '../pages/client-view.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-user-directories': UserDirectories
  }
}

export interface UserDirectories {
  directories: readonly {
    name: string
    /** Null for a client that is gone. */
    uri: string | null
    externalId: string
    since: Date
  }[]
}

const PART = 'admin-user-directories'

export async function addAdministration(fastify: FastifyInstance): Promise<void> {
  const { admin, oauth, pages } = fastify
  const { externalIds } = kernelOf(fastify)
  await pages.add(PART, new URL('../../templates/admin-user-directories.eta', import.meta.url))
  const area: AdminArea = admin.addUserPart({
    name: 'directories',
    part: PART,
    async model({ id }): Promise<UserDirectories | null> {
      const known = await externalIds.ofUser(id)
      const views = known.map(async ({ client: clientId, externalId, since }) => {
        const client = await oauth.findClient(clientId)
        const told = { externalId, since: new Date(since) }
        return client === null
          ? { ...told, name: clientId, uri: null }
          : { ...told, name: faceOf(client).name, uri: area.uri('/client', { client_id: clientId }) }
      })
      return known.length === 0 ? null : { directories: await Promise.all(views) }
    },
  })
}
