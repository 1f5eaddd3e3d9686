/** A client's secret: replaced at `/admin/client/rotate-secret`, and shown once at `/admin/client/secret`. */
import { message } from '../../../src/protocol/message.ts'
import type { ClientInformation } from '../../../src/protocol/client-metadata.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { SecretReplaced } from '../../../src/services/clients/client-registry.ts'
import { appSettings } from './app-settings.ts'
import { findFace } from './client-face.ts'
import { getClient } from './client-page.ts'
import type { OwnArea } from '../area.ts'
import { notShownAgain, type ShownOnce } from '../../pages/shown-once.ts'

/** Seconds for which the former secret goes on working; one that leaked must not. */
const OVERLAPS = ['0', '3600', '86400', '604800'] as const
const ROTATE = '/client/rotate-secret'

export function addClientSecret(area: OwnArea, shownOnce: ShownOnce): void {
  const { oauth, serve, uri } = area
  const Id = Type.Object({ client_id: Type.Optional(Type.String()) })

  serve({
    path: `/admin${ROTATE}`,
    query: Id,
    form: Type.Object({
      client_id: Type.String(),
      overlap: Type.Enum(OVERLAPS),
      former: Type.Optional(Type.String()),
    }),
    show: async ({ client_id: clientId = '' }, { reply }) =>
      reply.redirect(uri('/client', { client_id: clientId }), 303),
    async submit({ client_id: clientId, overlap, former = '' }, call) {
      const administrator = area.assertGenuine(call, ROTATE, clientId)
      await getClient(area, clientId)
      const again = area.signInAgain(call, uri('/client', { client_id: clientId, again: 'yes' }))
      if (again !== undefined) return again
      const handle = shownOnce.handleOf(administrator, call.wire)
      const rotated = await unlessReplaced(oauth.clients.rotateSecret(clientId, Number(overlap), { former }))
      // A form that was sent twice, or opened before somebody else's was sent, makes no second one.
      if (rotated === null) await shownOnce.untilPut(handle)
      const shown =
        rotated === null
          ? handle
          : await shownOnce.put(clientId, rotated.client_secret!, administrator, handle)
      return call.reply.redirect(uri('/client/secret', { handle: shown }), 303)
    },
  })
  serve({
    path: '/admin/client/secret',
    query: Type.Object({ handle: Type.Optional(Type.String()) }),
    async show({ handle = '' }, { request, reply }) {
      const taken = await shownOnce.take(handle, area.administratorOf(request))
      if (taken === null) {
        const text = message(
          'A secret is shown once, and is then known to the app alone. Replace it if it was lost.',
        )
        const primary = { href: uri('/clients'), text: message('Go to the clients') }
        return notShownAgain(reply, text, primary)
      }
      const { subject: clientId, secret } = taken
      const client = await getClient(area, clientId)
      const { name } = await findFace(area, client)
      return reply.page('admin-client-secret', {
        clientId,
        name,
        secret,
        settings: appSettings(oauth.issuer, client, secret),
        clientUri: uri('/client', { client_id: clientId }),
      })
    },
  })
}

async function unlessReplaced(rotation: Promise<ClientInformation>): Promise<ClientInformation | null> {
  try {
    return await rotation
  } catch (error) {
    if (error instanceof SecretReplaced) return null
    throw error
  }
}
