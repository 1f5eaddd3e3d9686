/** `/admin/clients/new`: registers a client. The form is filled in for its kind, and may be changed before it is sent. */
import { randomUUID } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { message } from '../../../src/protocol/message.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { isUuid } from '../../../src/protocol/uuid.ts'
import type { AlongNew } from '../../../src/services/clients/client-registry.ts'
import { createDoneOnce } from '../../../src/services/done-once.ts'
import { LOOK_AGAIN } from '../../pages/expired-form.ts'
import type { PageCall } from '../../pages/index.ts'
import type { Notice } from '../../pages/models.ts'
import { clientIdField, membersOf, typedIn, type Errors, type Values } from './client-fields.ts'
import { attempt, clientForm, FORM, LongFields } from './client-form.ts'
import { changesOf, showClient } from './client-page.ts'
import { servedGrantTypes } from '../../../src/services/clients/served-grant-types.ts'
import { CLIENT_TYPES, isClientType, presetOf } from './client-types.ts'
import type { OwnArea } from '../area.ts'
import { SHOWN_FOR, type ShownOnce } from '../../pages/shown-once.ts'

const PATH = '/clients/new'
const MADE_BEFORE = message(
  'This form has registered the client before, as it was then. Nothing is saved yet: saving now puts what stands here in its place.',
)
/** Nobody comes back to these in a browser. */
const WITHOUT_REDIRECT = new Set(['device', 'service'])

const isAskedOf = (type: string, field: string): boolean =>
  !(WITHOUT_REDIRECT.has(type) && field.endsWith('redirect_uris'))

export function addNewClient(area: OwnArea, shownOnce: ShownOnce): void {
  const { oauth, kernel, serve, uri } = area
  const registered = createDoneOnce<{ client: string; tellsSecret: boolean }>(
    kernel,
    'admin-new-client',
    SHOWN_FOR,
  )
  const isServed = (grant: string | undefined): boolean =>
    grant === undefined || servedGrantTypes(kernel.doors).has(grant)

  function show(
    call: PageCall,
    type: string,
    values: Values,
    { errors = {}, notice = null }: { errors?: Errors; notice?: Notice | null } = {},
  ): FastifyReply {
    const usual = isClientType(type) ? presetOf(type) : {}
    const form = clientForm(area, call, { path: PATH, subject: '', values, errors, usual })
    const [first, ...rest] = form.groups
    const asked = first!.fields.filter(
      ({ name, value, error }) => value !== '' || error !== null || isAskedOf(type, name),
    )
    const withId = { ...first!, fields: asked.toSpliced(1, 0, clientIdField(values, errors)) }
    const served = Object.entries(CLIENT_TYPES).filter(([, { grant }]) => isServed(grant))
    const types = served.map(([key, { title, text }]) => ({
      title,
      text,
      href: uri(PATH, { type: key }),
      current: key === type,
    }))
    return call.reply.page(
      'admin-client-new',
      {
        notice,
        form: { ...form, groups: [withId, ...rest] },
        newId: randomUUID(),
        types,
        type,
        listUri: uri('/clients'),
      },
      { status: Object.keys(errors).length > 0 ? 400 : 200 },
    )
  }

  serve({
    path: `/admin${PATH}`,
    query: Type.Object({ type: Type.Optional(Type.String()) }),
    form: Type.Object({
      type: Type.Optional(Type.String()),
      new_id: Type.Optional(Type.String()),
      ...LongFields,
    }),
    async show({ type = 'web' }, call) {
      const known = isClientType(type) && isServed(CLIENT_TYPES[type].grant) ? type : 'web'
      return show(call, known, presetOf(known))
    },
    async submit({ type = '', new_id: newId = '' }, call) {
      const administrator = area.assertGenuine(call, PATH, '')
      const again = area.signInAgain(call, uri(PATH, { type }))
      if (again !== undefined) return again
      const values = typedIn(call.wire)
      const chosen = values['client_id']!.trim()
      // That of the form, where none is chosen: a form that is sent twice makes one client.
      const ownId = chosen === '' && isUuid(newId) ? newId : null
      const handle = shownOnce.handleOf(administrator, call.wire)
      const sent = { form: JSON.stringify(call.wire), browser: administrator.session.sid }
      const along: AlongNew = async (em, client, tellsSecret) =>
        registered.noteBy(em, sent, { client, tellsSecret })
      const result = await attempt(values, async () =>
        oauth.clients.create({ ...membersOf(values), client_id: chosen || ownId }, { along }),
      )
      const toSecret = (shown: string) => call.reply.redirect(uri('/client/secret', { handle: shown }), 303)
      const toClient = (id: string) =>
        call.reply.redirect(uri('/client', { client_id: id, saved: 'yes' }), 303)
      if ('errors' in result) {
        const errors = result.errors as Errors
        const made = 'client_id' in errors ? await registered.find(sent) : null
        if (made?.tellsSecret === true && (await shownOnce.untilPut(handle))) return toSecret(handle)
        if (made !== null) return toClient(made.client)
        const known = 'client_id' in errors && ownId !== null ? await oauth.clients.find(ownId) : null
        if (known === null) return show(call, type, values, { errors })
        // Sent again later: nothing is left to be shown of it. Or mended, and sent again, as the first answer was lost.
        return Object.keys(changesOf(known, values)).length === 0
          ? toClient(ownId!)
          : showClient(area, call, known, { values, errors: { [FORM]: MADE_BEFORE } })
      }
      const { client_id: clientId = '', client_secret: secret } = result
      if (secret === undefined) return toClient(clientId)
      return toSecret(await shownOnce.put(clientId, secret, administrator, handle))
    },
    again: async ({ type = '' }, call) => show(call, type, typedIn(call.wire), { notice: LOOK_AGAIN }),
  })
}
