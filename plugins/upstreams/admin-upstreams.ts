/** `/admin/upstreams`: the providers by which people sign in here. Their secrets go in, and are never shown. */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { message } from '../../src/protocol/message.ts'
import { kindOf, OF_APPLE, OF_OAUTH } from '../../src/protocol/upstream-kinds.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'
import { addRecordPages } from '../admin/scopes-and-resources/record-pages.ts'
import { upstreamFields, upstreamTypes } from './admin-fields.ts'

export function addAdminUpstreams(fastify: FastifyInstance): void {
  const kernel = kernelOf(fastify)
  const { upstreams } = kernel
  const { issuer } = fastify.oauth
  const area = fastify.admin.addSection({ text: message('Upstreams'), path: '/upstreams', group: 'people' })

  /** What it must know of this server. */
  const addressesOf = (id: string) => ({
    callback: `${issuer}/upstream/${id}/callback`,
    signedOut: `${issuer}/upstream/${id}/signed-out`,
  })
  const types = upstreamTypes(addressesOf)

  addRecordPages<UpstreamInformation>(area, kernel, {
    path: '/upstream',
    section: message('Upstreams'),
    tabs: [],
    asksAgain: true,
    words: {
      list: message('Upstreams'),
      listLead: message('Providers by which people sign in here.'),
      new: message('Register an upstream'),
      one: 'upstream',
      none: message('There is no such upstream'),
      delete: message('Delete this upstream'),
      deleted: message('The upstream is deleted.'),
      notItsName: message('This is not the ID of this upstream.'),
      lead: message('Providers by which people sign in here.'),
      endings: [
        message(
          'Nobody signs in by it from then on. Those who have no other way in cannot sign in any more.',
        ),
        message('Accounts stay linked: when it is registered again, their sign-ins work again.'),
        message('Those who are signed in stay signed in.'),
      ],
    },
    columns: [message('ID'), message('Name'), message('Issuer')],
    identifier: {
      name: 'id',
      label: message('ID'),
      hint: message('Small letters, digits and hyphens. It cannot be changed later.'),
    },
    types,
    fields: async (one, type) => upstreamFields(types, one, type),
    leadOf: ({ id, kind }) =>
      kindOf({ kind }) === 'openid'
        ? message(
            'A provider by which people sign in here. Register <code>{callback}</code> there as the redirect URI, and <code>{signedOut}</code> for after a sign-out.',
            addressesOf(id),
          )
        : message(
            'A provider by which people sign in here. Register <code>{callback}</code> there as the redirect URI.',
            addressesOf(id),
          ),
    cellsOf: ({ name = '', issuer: theirs }) => [name, theirs],
    valuesOf: (one) => ({
      ...Object.fromEntries([...OF_OAUTH, ...OF_APPLE].map((name) => [name, one[name] ?? ''])),
      kind: kindOf(one) === 'openid' ? '' : kindOf(one),
      token_endpoint_auth_method:
        one.token_endpoint_auth_method === 'client_secret_post' ? 'client_secret_post' : '',
      issuer: one.issuer,
      client_id: one.client_id,
      client_secret: '',
      name: one.name ?? '',
      scope: (one.scope ?? []).join(' '),
      domains: (one.domains ?? []).join(' '),
      trust_email: one.trust_email === true ? 'true' : '',
      sign_up: one.sign_up === undefined ? '' : String(one.sign_up),
      sign_out: one.sign_out === true ? 'true' : '',
      button: one.button === false ? 'false' : '',
      claims: Object.entries(one.claims ?? {})
        .map((pair) => pair.join('='))
        .join(' '),
    }),
    list: async (options) => upstreams.list(options),
    find: async (id) => upstreams.find(id),
    save: async ({ id = '', client_secret: secret = '', ...values }, options) => {
      const members = Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name, value === '' ? null : value]),
      )
      await upstreams.save({ id, ...members, ...(secret === '' ? {} : { client_secret: secret }) }, options)
    },
    delete: async (id) => upstreams.delete(id),
    related: async () => null,
  })
}
