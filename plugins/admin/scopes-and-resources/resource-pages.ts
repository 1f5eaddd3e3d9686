/** `/admin/resources`: APIs that tokens are for, and what their tokens are like (RFC 8707). */
import { message } from '../../../src/protocol/message.ts'
import type { ResourceInformation } from '../../../src/services/resource-registry.ts'
import type { OwnArea } from '../area.ts'
import { SCOPES_AND_RESOURCES } from './record-kind.ts'
import { addRecordPages } from './record-pages.ts'

/** Scopes that the page of a resource shows. */
const SHOWN = 100
const FORMATS = [
  { value: '', text: message('As the client says') },
  { value: 'jwt', text: message('jwt: APIs verify it by themselves') },
  { value: 'opaque', text: message('opaque: APIs ask this server') },
]

const BOUND = [
  { value: '', text: message('Where the app shows a key') },
  { value: 'true', text: message('Always: without a key, the app gets none') },
]

const CERTIFIED = [
  { value: '', text: message('Where the app asks for it') },
  { value: 'true', text: message('Always: without a certificate, the app gets none') },
]

/** Members of what is typed, by the names of the fields; an empty field takes the member away. */
const MEMBERS: Readonly<Record<string, (value: string) => unknown>> = {
  aliases: itemsOf,
  name: (value) => value || null,
  access_token_format: (value) => value || null,
  access_token_lifetime: (value) => (value === '' ? null : numberIn(value)),
  dpop_bound_access_tokens: (value) => value === 'true' || null,
  tls_client_certificate_bound_access_tokens: (value) => value === 'true' || null,
}

export function addResourcePages(area: OwnArea): void {
  const { resources, issuer, config } = area.kernel

  addRecordPages<ResourceInformation>(area, area.kernel, {
    ...SCOPES_AND_RESOURCES,
    path: '/resource',
    words: {
      list: message('Resources'),
      listLead: message(
        'The APIs that tokens are for. Scopes that belong to none of them are for the default one, {issuer}.',
        { issuer },
      ),
      new: message('Register a resource'),
      one: 'resource',
      none: message('There is no such resource'),
      delete: message('Delete this resource'),
      deleted: message('The resource is deleted.'),
      notItsName: message('This is not the identifier of this resource.'),
      lead: message('An API that tokens are for: their audience.'),
      endings: [
        message(
          'Its scopes belong to the default resource from then on, and clients keep them in their lists: new tokens with them are for {issuer}.',
          { issuer },
        ),
        message(
          'Approvals that were for this resource alone can no longer be refreshed: the apps have to ask again.',
        ),
        message('Tokens that are out already are good until they expire.'),
      ],
    },
    columns: [message('Identifier'), message('Name'), message('Tokens')],
    identifier: {
      name: 'resource',
      label: message('Identifier'),
      kind: 'url',
      hint: message('An absolute URI, the aud of its tokens. It cannot be changed later.'),
    },
    fields: async () => [
      {
        name: 'aliases',
        label: message('Other identifiers'),
        kind: 'lines',
        hint: message(
          'One per line: what apps send instead of the identifier. A slash at the end never matters.',
        ),
      },
      {
        name: 'name',
        label: message('Name'),
        kind: 'prose',
        hint: message('People see it when they are asked to allow its scopes.'),
      },
      { name: 'access_token_format', label: message('Access tokens'), kind: 'choice', options: FORMATS },
      {
        name: 'access_token_lifetime',
        label: message('Lifetime of access tokens, in seconds'),
        kind: 'number',
        hint: message('Empty: {seconds}, as OIDC_TOKEN_EXPIRE says.', { seconds: config.OIDC_TOKEN_EXPIRE }),
      },
      {
        name: 'dpop_bound_access_tokens',
        label: message('Access tokens are bound to a key (DPoP)'),
        kind: 'choice',
        options: BOUND,
      },
      {
        name: 'tls_client_certificate_bound_access_tokens',
        label: message('Access tokens are bound to a certificate (mutual TLS)'),
        kind: 'choice',
        options: CERTIFIED,
      },
    ],
    cellsOf: ({
      name = '',
      access_token_format: format,
      access_token_lifetime: seconds = config.OIDC_TOKEN_EXPIRE,
    }) => [
      name,
      format === undefined
        ? message('as the client says, {seconds} s', { seconds })
        : message('{format}, {seconds} s', { format, seconds }),
    ],
    valuesOf: ({
      aliases = [],
      name = '',
      access_token_format: format = '',
      access_token_lifetime: seconds = '',
      dpop_bound_access_tokens: bound = false,
      tls_client_certificate_bound_access_tokens: certified = false,
    }) => ({
      aliases: aliases.join('\n'),
      name,
      access_token_format: format,
      access_token_lifetime: String(seconds),
      dpop_bound_access_tokens: bound ? 'true' : '',
      tls_client_certificate_bound_access_tokens: certified ? 'true' : '',
    }),
    list: async (options) => resources.listResources(options),
    find: async (resource) => resources.findResource(resource),
    save: async ({ resource = '', ...values }, options) => {
      const members = Object.entries(values).map(([name, value]) => [name, MEMBERS[name]!(value)])
      await resources.saveResource({ resource, ...Object.fromEntries(members) }, options)
    },
    delete: async (resource) => resources.deleteResource(resource),
    async related({ resource }) {
      const scopes = await resources.scopesOf(resource, SHOWN)
      const links = scopes.map(({ name }) => ({ text: name, href: area.uri('/scope', { id: name }) }))
      return {
        title: message('Its scopes'),
        none: message('No scope belongs to it yet.'),
        links: links.toSorted((a, b) => a.text.localeCompare(b.text)),
      }
    },
  })
}

/** Null for none. */
function itemsOf(text: string): string[] | null {
  const items = text.split(/\s+/).filter((one) => one !== '')
  return items.length === 0 ? null : items
}

/** NaN, which is refused, for anything but digits. */
function numberIn(text: string): number {
  return /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN
}
