/** `/admin/upstreams`: the OpenID providers by which people sign in here. Their secrets go in, and are never shown. */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'
import { addRecordPages } from '../admin/scopes-and-resources/record-pages.ts'
import type { RecordField } from '../admin/scopes-and-resources/record-kind.ts'

const FIELDS: readonly RecordField[] = [
  { name: 'issuer', label: 'Issuer', kind: 'url', hint: 'Letter by letter as its metadata has it, such as https://accounts.google.com.' },
  { name: 'client_id', label: 'Client id', hint: 'What this server is called there.' },
  { name: 'client_secret', label: 'Client secret', kind: 'password', hint: 'Kept encrypted, and never shown. Empty: it stays as it is.' },
  { name: 'name', label: 'Name', kind: 'prose', hint: 'What people read on its button.' },
  { name: 'scope', label: 'Scope', hint: 'Empty: openid profile email.' },
  { name: 'domains', label: 'Domains', hint: 'Of mail addresses that are its people’s, such as example.com.' },
  {
    name: 'trust_email',
    label: 'Addresses of these domains',
    kind: 'choice',
    options: [
      { value: '', text: 'Prove nothing here' },
      { value: 'true', text: 'Are believed where it has verified them' },
    ],
    hint: 'Who has the same verified address here is signed in without being asked for more.',
  },
  {
    name: 'sign_up',
    label: 'New people',
    kind: 'choice',
    options: [
      { value: '', text: 'Get an account where their address is believed' },
      { value: 'true', text: 'Always get an account' },
      { value: 'false', text: 'Never get an account' },
    ],
  },
  {
    name: 'sign_out',
    label: 'Who signs out here',
    kind: 'choice',
    options: [
      { value: '', text: 'Stays signed in there' },
      { value: 'true', text: 'Is led there to sign out too' },
    ],
  },
  {
    name: 'button',
    label: 'On the sign-in page',
    kind: 'choice',
    options: [
      { value: '', text: 'It has a button' },
      { value: 'false', text: 'People find it by their address' },
    ],
  },
  { name: 'claims', label: 'Claims by other names there', hint: 'Such as email=mail preferred_username=upn.' },
] // prettier-ignore

export function addAdminUpstreams(fastify: FastifyInstance): void {
  const { upstreams } = kernelOf(fastify)
  const { issuer } = fastify.oauth
  const area = fastify.admin.addSection({ text: 'Upstreams', path: '/upstreams' })

  addRecordPages<UpstreamInformation>(area, {
    path: '/upstream',
    section: 'Upstreams',
    tabs: [],
    words: {
      list: 'Upstreams',
      listLead: 'OpenID providers by which people sign in here.',
      new: 'Register an upstream',
      one: 'upstream',
      lead: `An OpenID provider by which people sign in here. Where its id is corp, register ${issuer}/upstream/corp/callback there as the redirect URI, and ${issuer}/upstream/corp/signed-out for after a sign-out.`,
      endings: [
        'Nobody signs in by it from then on. Who has no other way in cannot sign in any more.',
        'Who is linked with it is so again when it is registered again.',
        'Who is signed in stays so.',
      ],
    },
    columns: ['Id', 'Name', 'Issuer'],
    identifier: {
      name: 'id',
      label: 'Id',
      hint: 'Small letters, digits and hyphens. It cannot be changed later.',
    },
    fields: async () => FIELDS,
    cellsOf: ({ name = '', issuer: theirs }) => [name, theirs],
    valuesOf: (one) => ({
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
