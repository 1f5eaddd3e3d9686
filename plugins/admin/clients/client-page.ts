/** `/admin/client`: one client, to look at and to change. Its secret and its end are in `client-secret.ts` and `client-end.ts`. */
import { type Words, message } from '../../../src/protocol/message.ts'
import type { FastifyReply } from 'fastify'
import { isDeepStrictEqual } from 'node:util'
import { colorCaution } from '../../../src/protocol/brand-colors.ts'
import { addressCautions, unaskedAddresses } from '../../../src/protocol/client-addresses.ts'
import type { ClientInformation } from '../../../src/protocol/client-metadata.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { LOOK_AGAIN } from '../../pages/expired-form.ts'
import type { PageCall } from '../../pages/index.ts'
import type { Notice } from '../../pages/models.ts'
import { seenVersion } from '../../pages/seen-version.ts'
import { appSettings } from './app-settings.ts'
import { isField, membersOf, typedIn, valuesOf, type Errors, type Values } from './client-fields.ts'
import { attempt, clientForm, FORM, LongFields } from './client-form.ts'
import type { OwnArea } from '../area.ts'
import { NotThere } from '../not-there.ts'
import { noticeOf } from '../notice.ts'
import { findFace } from './client-face.ts'

const PATH = '/client'
/** How the app looks. By all else somebody can be the app, be sent its people or their codes, or have a stranger's logo shown. */
const LOOKS: ReadonlySet<string> = new Set([
  'client_name',
  'client_uri',
  'logo_uri',
  'brand_color',
  'policy_uri',
  'tos_uri',
  'contacts',
])
const CHANGED_MEANWHILE = message(
  'The client was changed meanwhile. Nothing is saved yet: saving now puts what stands here in its place.',
)

const BY_ITSELF = message(
  'The app has registered itself, and manages its registration: nobody here has checked whose it is. What you give it beside, it loses when it changes something.',
)

/** What the page says besides what is registered. */
export interface Shown {
  notice?: Notice | null
  values?: Values
  errors?: Errors
  deletion?: { error: Words; typed: string }
}

export async function getClient(area: OwnArea, clientId = ''): Promise<ClientInformation> {
  return (await area.oauth.clients.find(clientId)) ?? noClient(area)
}

/** Whether it is known by its address alone: then there is nothing of it to change. */
export async function isUnregistered({ oauth }: OwnArea, clientId: string): Promise<boolean> {
  return clientId !== '' && (await oauth.findClient(clientId))?.unregistered !== undefined
}

/** @throws */
function noClient({ uri }: OwnArea): never {
  throw new NotThere('no client is registered under this client_id', {
    section: 'Clients',
    title: message('There is no such client'),
    listUri: uri('/clients'),
    listText: message('Clients'),
  })
}

export async function showClient(
  area: OwnArea,
  call: PageCall,
  client: ClientInformation,
  { notice = null, values = valuesOf(client), errors = {}, deletion }: Shown = {},
): Promise<FastifyReply> {
  const { client_id: clientId = '' } = client
  const { name, byItself } = await findFace(area, client)
  const model = {
    clientId,
    name,
    notice,
    form: clientForm(area, call, { path: PATH, subject: clientId, values, errors }),
    version: versionOf(client),
    cautions: [
      ...(byItself ? [BY_ITSELF] : []),
      ...cautionsOf(client, area.kernel.config.UNSAFE_OUTBOUND_ORIGINS),
    ],
    rotation: hasSecret(client)
      ? {
          ...area.target(call, '/client/rotate-secret', clientId),
          former: await area.oauth.clients.currentSecret(clientId),
        }
      : null,
    deletion: {
      ...area.target(call, '/client/delete', clientId),
      error: deletion?.error ?? null,
      typed: deletion?.typed ?? '',
    },
    settings: appSettings(area.oauth.issuer, client),
    others: othersOf(client),
    unregistered: (await area.oauth.clients.unregisteredScopes(client.scope ?? [])).join(' '),
    listUri: area.uri('/clients'),
    authorizationsUri: area.uri('/client/authorizations', { client_id: clientId }),
    scopesUri: area.uri('/scopes'),
    auditUri: area.uri('/audit', { client_id: clientId }),
  }
  const refused = deletion !== undefined || Object.keys(errors).length > 0
  return call.reply.page('admin-client', model, { status: refused ? 400 : 200 })
}

export function addClientPage(area: OwnArea): void {
  const { oauth, serve, uri } = area
  const Text = Type.Optional(Type.String())

  serve({
    path: `/admin${PATH}`,
    query: Type.Object({ client_id: Text, saved: Text, again: Text }),
    form: Type.Object({
      client_id: Text,
      version: Text,
      ...LongFields,
    }),
    async show({ client_id: clientId = '', ...told }, call) {
      const client = await oauth.clients.find(clientId)
      if (client === null && (await isUnregistered(area, clientId)))
        return call.reply.redirect(uri('/unregistered', { client_id: clientId }), 303)
      return showClient(area, call, client ?? noClient(area), { notice: noticeOf(told) })
    },
    async submit({ client_id: clientId = '', version }, call) {
      area.assertGenuine(call, PATH, clientId)
      const client = await getClient(area, clientId)
      const values = typedIn(call.wire)
      const changes = changesOf(client, values)
      const saved = () => call.reply.redirect(uri(PATH, { client_id: clientId, saved: 'yes' }), 303)
      if (version !== versionOf(client))
        // One that comes again has been saved before.
        return Object.keys(changes).length === 0
          ? saved()
          : showClient(area, call, client, { values, errors: { [FORM]: CHANGED_MEANWHILE } })
      const isGrave = Object.keys(changes).some((name) => !LOOKS.has(name))
      const again = isGrave
        ? area.signInAgain(call, uri(PATH, { client_id: clientId, again: 'yes' }))
        : undefined
      if (again !== undefined) return again
      const result = await attempt(values, async () => oauth.clients.update(clientId, changes))
      return 'errors' in result
        ? showClient(area, call, client, { values, errors: result.errors as Errors })
        : saved()
    },
    async again({ client_id: clientId, version }, call) {
      const client = await getClient(area, clientId)
      const values = typedIn(call.wire)
      return version === versionOf(client)
        ? showClient(area, call, client, { values, notice: LOOK_AGAIN })
        : showClient(area, call, client, { values, errors: { [FORM]: CHANGED_MEANWHILE } })
    },
  })
}

/** Of addresses and a colour that are registered as they are. */
function cautionsOf(client: ClientInformation, unsafeOrigins: readonly string[]): Words[] {
  const addresses = addressCautions(client).map(({ uri }) =>
    message(
      'The address <code>{uri}</code> has <code>{scheme}</code>, a scheme without a dot, which another app on the same device may take. One that the app owns looks like <code>com.example.app:/callback</code>.',
      { uri, scheme: new URL(uri).protocol },
    ),
  )
  const unasked = unaskedAddresses(client, unsafeOrigins).map(({ member, origin }) =>
    message(
      'This server does not ask the address <code>{member}</code>, since it is not https. The setting <code>UNSAFE_OUTBOUND_ORIGINS={origin}</code> lets it be asked.',
      { member, origin },
    ),
  )
  const color = client.brand_color === undefined ? undefined : colorCaution(client.brand_color)
  return [...addresses, ...unasked, ...(color === undefined ? [] : [color])]
}

function versionOf(client: ClientInformation): string {
  return seenVersion(valuesOf(client))
}

/** Only what is different: what the form shows of defaults stays a default. */
export function changesOf(client: ClientInformation, values: Values): Record<string, unknown> {
  const shown = membersOf(valuesOf(client))
  return Object.fromEntries(
    Object.entries(membersOf(values)).filter(([name, value]) => !isDeepStrictEqual(value, shown[name])),
  )
}

function hasSecret({ token_endpoint_auth_method: method }: ClientInformation): boolean {
  return method === undefined || method.startsWith('client_secret_')
}

/** Plain ones only: a key set, say, is too much to look at here. */
function othersOf(client: ClientInformation): { name: string; value: string }[] {
  return Object.entries(client).flatMap(([name, value]) => {
    const plain = ['string', 'number', 'boolean'].includes(typeof value) || Array.isArray(value)
    return isField(name) || !plain ? [] : [{ name, value: [value].flat().join(' ') }]
  })
}
