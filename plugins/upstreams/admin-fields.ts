/** The form for an upstream: what it may be, which members each of these has, and what is known of it already. */
import { message } from '../../src/protocol/message.ts'
import type { RecordField, RecordType } from '../admin/scopes-and-resources/record-kind.ts'
import { kindOf, type UpstreamKind } from '../../src/protocol/upstream-kinds.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'

const KEEPS_SECRET = message('Kept encrypted, and never shown. Leave it empty to keep the one that is there.')
const MICROSOFT = message(
  'https://login.microsoftonline.com/TENANT/v2.0, with the Directory (tenant) ID in the place of TENANT.',
)

const CLIENT_ID: RecordField = {
  name: 'client_id', label: message('Client ID'), hint: message('What this server is called there.'),
} // prettier-ignore
const CLIENT_SECRET: RecordField = {
  name: 'client_secret', label: message('Client secret'), kind: 'password', hint: message('Kept encrypted, and never shown.'),
} // prettier-ignore
const ISSUER: RecordField = {
  name: 'issuer', label: message('Issuer'), kind: 'url', hint: message('Letter by letter as its metadata has it, such as https://accounts.google.com.'),
} // prettier-ignore
const NAME: RecordField = {
  name: 'name', label: message('Name'), kind: 'prose', hint: message('What people read on its button.'),
} // prettier-ignore

/** Whose addresses are believed, and who gets an account by it. */
const PEOPLE: readonly RecordField[] = [
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
    name: 'button',
    label: message('On the sign-in page'),
    kind: 'choice',
    options: [
      { value: '', text: message('It has a button') },
      { value: 'false', text: message('People find it by their address') },
    ],
  },
] // prettier-ignore
const SIGN_OUT: RecordField = {
  name: 'sign_out',
  label: message('Who signs out here'),
  kind: 'choice',
  options: [
    { value: '', text: message('Stays signed in there') },
    { value: 'true', text: message('Is led there to sign out too') },
  ],
}
const CLAIMS: RecordField = {
  name: 'claims', label: message('Claims that have other names there'), hint: message('Separated by spaces, such as email=mail preferred_username=upn.'),
} // prettier-ignore
const scope = (usual: string): RecordField => ({
  name: 'scope', label: message('Scope'), hint: message('Separated by spaces. Empty: {scope}.', { scope: usual }),
}) // prettier-ignore

const folded = (...fields: readonly RecordField[]): readonly RecordField[] =>
  fields.map((field) => ({ ...field, folded: true }))

/** By the kind: what is asked for, and what few need. */
const FIELDS: Readonly<Record<UpstreamKind, readonly RecordField[]>> = {
  openid: [
    ISSUER, CLIENT_ID, CLIENT_SECRET, NAME, ...PEOPLE, ...folded(SIGN_OUT, scope('openid profile email'), CLAIMS),
  ],
  github: [
    CLIENT_ID, CLIENT_SECRET, ...PEOPLE,
    ...folded(NAME, { ...ISSUER, hint: message('Only for a GitHub Enterprise: its address with /login/oauth. Empty: github.com.') }, scope('read:user user:email'), CLAIMS),
  ],
  apple: [
    { ...CLIENT_ID, label: message('Services ID') },
    { name: 'team_id', label: message('Team ID') },
    { name: 'key_id', label: message('Key ID') },
    { ...CLIENT_SECRET, label: message('Key'), hint: message('All of the file AuthKey_*.p8. Kept encrypted, and never shown.') },
    ...PEOPLE, ...folded(NAME, scope('name email'), CLAIMS),
  ],
  oauth2: [
    { ...ISSUER, hint: message('A name for the service, by which its people are known here: its address, such as https://discord.com.') },
    CLIENT_ID, CLIENT_SECRET, NAME,
    { name: 'authorization_endpoint', label: message('Authorization endpoint'), kind: 'url', hint: message('Where people sign in.') },
    { name: 'token_endpoint', label: message('Token endpoint'), kind: 'url', hint: message('Where the code is exchanged.') },
    { name: 'userinfo_endpoint', label: message('Userinfo endpoint'), kind: 'url', hint: message('It says whose an access token is.') },
    { name: 'subject_claim', label: message('Claim that says who somebody is'), hint: message('One that is never given to somebody else, such as id. Empty: sub.') },
    scope('openid profile email'), CLAIMS, ...PEOPLE,
    ...folded({
      name: 'token_endpoint_auth_method',
      label: message('How the client secret is sent'),
      kind: 'choice',
      options: [
        { value: '', text: 'client_secret_basic' },
        { value: 'client_secret_post', text: 'client_secret_post' },
      ],
    }),
  ],
} // prettier-ignore

interface UpstreamType extends RecordType {
  readonly kind: UpstreamKind
}

/** The addresses that it must know of this server, where its id is `id`. */
export type AddressesOf = (id: string) => Readonly<Record<'callback' | 'signedOut', string>>

/** What people look for by its name, then what any other is. */
export function upstreamTypes(addressesOf: AddressesOf): readonly UpstreamType[] {
  const { callback, signedOut } = addressesOf('corp')
  return [
    {
      key: 'google', kind: 'openid', title: 'Google', text: message('Gmail and Google Workspace'),
      lead: message('In the Google Cloud console, under Clients, create an OAuth client of the type Web application with <code>{callback}</code> as an authorized redirect URI. Enter here what it shows.', addressesOf('google')),
      values: { id: 'google', name: 'Google', issuer: 'https://accounts.google.com' },
    },
    {
      key: 'microsoft', kind: 'openid', title: 'Microsoft', text: message('Microsoft Entra ID, of one organisation'),
      lead: message('In the Microsoft Entra admin center, under App registrations, register an app of a single tenant with <code>{callback}</code> as a redirect URI of the platform Web, and make a client secret under Certificates & secrets. Enter here what it shows.', addressesOf('microsoft')),
      values: { id: 'microsoft', name: 'Microsoft' },
    },
    {
      key: 'github', kind: 'github', title: 'GitHub', text: message('github.com, or an Enterprise of yours'),
      lead: message('At GitHub, under Settings, Developer settings, OAuth Apps, register an app with <code>{callback}</code> as its authorization callback URL, and make a client secret. Enter here what it shows.', addressesOf('github')),
      values: { id: 'github', kind: 'github' },
    },
    {
      key: 'apple', kind: 'apple', title: 'Apple', text: message('Sign in with Apple'),
      lead: message('At Apple, under Certificates, Identifiers & Profiles, register a Services ID for Sign in with Apple with <code>{callback}</code> as its return URL, and a key. Enter here what it shows.', addressesOf('apple')),
      values: { id: 'apple', kind: 'apple' },
    },
    {
      key: 'openid', kind: 'openid', title: message('Another OpenID provider'), text: message('Okta, Auth0, Keycloak, GitLab, and each that has OpenID Connect'),
      lead: message('A provider by which people sign in here. Where its ID is corp, register <code>{callback}</code> there as the redirect URI, and <code>{signedOut}</code> for after a sign-out.', { callback, signedOut }),
      values: {},
    },
    {
      key: 'oauth2', kind: 'oauth2', title: message('OAuth 2.0 alone'), text: message('A service without metadata and ID tokens, such as Discord'),
      lead: message('A service by which people sign in here. Where its ID is corp, register <code>{callback}</code> there as the redirect URI.', { callback }),
      values: { kind: 'oauth2' },
    },
  ]
} // prettier-ignore

/** Of a new one as what it is registered, or of one that is there. */
export function upstreamFields(
  types: readonly UpstreamType[],
  one: UpstreamInformation | null,
  type: RecordType | undefined,
): readonly RecordField[] {
  if (one !== null)
    return FIELDS[kindOf(one)].map((field) =>
      field.name === 'client_secret' ? { ...field, hint: KEEPS_SECRET } : field,
    )
  const { key, kind } = types.find((known) => known.key === type?.key) ?? types[0]!
  // What is known of it is no question.
  if (key === 'google')
    return FIELDS[kind].map((field) => (field === ISSUER ? { ...field, folded: true } : field))
  if (key === 'microsoft')
    return FIELDS[kind].map((field) => (field === ISSUER ? { ...field, hint: MICROSOFT } : field))
  return FIELDS[kind]
}
