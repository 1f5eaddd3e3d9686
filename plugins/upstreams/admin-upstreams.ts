/** `/admin/upstreams`: the providers by which people sign in here. Their secrets go in, and are never shown. */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { message } from '../../src/protocol/message.ts'
import { kindOf, OF_APPLE, OF_OAUTH } from '../../src/protocol/upstream-kinds.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'
import { addRecordPages } from '../admin/scopes-and-resources/record-pages.ts'
import type { RecordField } from '../admin/scopes-and-resources/record-kind.ts'

/** Of others, the metadata says it. */
const OF_OAUTH_ALONE = message('Only for OAuth 2.0.')
const OF_APPLE_ALONE = message('Only for Apple.')

const FIELDS: readonly RecordField[] = [
  {
    name: 'kind',
    label: message('Kind'),
    kind: 'choice',
    options: [
      { value: '', text: message('OpenID provider, such as Google, Microsoft or Keycloak') },
      { value: 'github', text: 'GitHub' },
      { value: 'apple', text: 'Apple' },
      { value: 'oauth2', text: message('OAuth 2.0 alone (oauth2): it has no metadata and no ID tokens') },
    ],
  },
  { name: 'issuer', label: message('Issuer'), kind: 'url', hint: message('Letter by letter as its metadata has it, such as https://accounts.google.com. Empty for github.com and Apple.') },
  { name: 'client_id', label: message('Client ID'), hint: message('What this server is called there.') },
  { name: 'client_secret', label: message('Client secret'), kind: 'password', hint: message('Kept encrypted, and never shown.') },
  { name: 'name', label: message('Name'), kind: 'prose', hint: message('What people read on its button.') },
  { name: 'scope', label: message('Scope'), hint: message('Separated by spaces. Empty: openid profile email, of GitHub read:user user:email, of Apple name email.') },
  { name: 'domains', label: message('Domains'), hint: message('Separated by spaces: those of its people’s mail addresses, such as example.com.') },
  {
    name: 'trust_email',
    label: message('Addresses of these domains'),
    kind: 'choice',
    options: [
      { value: '', text: message('Prove nothing here') },
      { value: 'true', text: message('Are believed where it has verified them') },
    ],
    hint: message('Who has the same verified address here is signed in without being asked for more.'),
  },
  {
    name: 'sign_up',
    label: message('New people'),
    kind: 'choice',
    options: [
      { value: '', text: message('Get an account where their address is believed') },
      { value: 'true', text: message('Always get an account') },
      { value: 'false', text: message('Never get an account') },
    ],
  },
  {
    name: 'sign_out',
    label: message('Who signs out here'),
    kind: 'choice',
    options: [
      { value: '', text: message('Stays signed in there') },
      { value: 'true', text: message('Is led there to sign out too') },
    ],
  },
  {
    name: 'button',
    label: message('On the sign-in page'),
    kind: 'choice',
    options: [
      { value: '', text: message('It has a button') },
      { value: 'false', text: message('People find it by their address') },
    ],
  },
  { name: 'claims', label: message('Claims that have other names there'), hint: message('Separated by spaces, such as email=mail preferred_username=upn.') },
  { name: 'team_id', label: message('Team ID'), hint: OF_APPLE_ALONE },
  { name: 'key_id', label: message('Key ID'), hint: message('Only for Apple. The key itself, all of the file AuthKey_*.p8, is the client secret.') },
  { name: 'authorization_endpoint', label: message('Authorization endpoint'), kind: 'url', hint: OF_OAUTH_ALONE },
  { name: 'token_endpoint', label: message('Token endpoint'), kind: 'url', hint: OF_OAUTH_ALONE },
  { name: 'userinfo_endpoint', label: message('Userinfo endpoint'), kind: 'url', hint: message('Only for OAuth 2.0: it says whose an access token is.') },
  { name: 'subject_claim', label: message('Claim that says who somebody is'), hint: message('Only for OAuth 2.0: one that is never given to somebody else, such as id. Empty: sub.') },
  {
    name: 'token_endpoint_auth_method',
    label: message('How the client secret is sent'),
    kind: 'choice',
    hint: OF_OAUTH_ALONE,
    options: [
      { value: '', text: 'client_secret_basic' },
      { value: 'client_secret_post', text: 'client_secret_post' },
    ],
  },
] // prettier-ignore

const KEEPS_SECRET = message('Kept encrypted, and never shown. Leave it empty to keep the one that is there.')

const ofExisting = (field: RecordField): RecordField =>
  field.name === 'client_secret' ? { ...field, hint: KEEPS_SECRET } : field

export function addAdminUpstreams(fastify: FastifyInstance): void {
  const { upstreams } = kernelOf(fastify)
  const { issuer } = fastify.oauth
  const area = fastify.admin.addSection({ text: message('Upstreams'), path: '/upstreams', group: 'people' })

  /** What it must know of this server. */
  const addressesOf = (id: string) => ({
    callback: `${issuer}/upstream/${id}/callback`,
    signedOut: `${issuer}/upstream/${id}/signed-out`,
  })

  addRecordPages<UpstreamInformation>(area, {
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
      lead: message(
        'A provider by which people sign in here. Where its ID is corp, register <code>{callback}</code> there as the redirect URI, and <code>{signedOut}</code> for after a sign-out.',
        addressesOf('corp'),
      ),
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
    fields: async (one) => (one === null ? FIELDS : FIELDS.map(ofExisting)),
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
