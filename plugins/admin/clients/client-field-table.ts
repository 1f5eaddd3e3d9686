/** The fields of the form for client metadata, as data: what each is called, how it is typed, and what may be chosen. */
import { DEFAULT_CONTENT_ENCRYPTION, type Encryptable } from '../../../src/protocol/encryption.ts'
import { message, type Message } from '../../../src/protocol/message.ts'
import type { FieldView } from '../models.ts'

export type Field = Pick<FieldView, 'name' | 'label' | 'hint' | 'kind'>

export const CLIENT_ID: Field = {
  name: 'client_id', label: message('Client ID'), kind: 'text', hint: message('Leave it empty, and one is made. It cannot be changed later.'),
} // prettier-ignore

const TO_ITS_KEY = message('It needs a key for that, among its public keys or at their address.')

/** The fields by the titles under which they stand: the member, what people call it, how it is typed, and a hint. */
const TABLE: readonly (readonly [title: Message, rows: readonly (readonly [string, Message, Field['kind'], Message?])[]])[] = [
  [message('The app'), [
    ['client_name', message('Name'), 'prose', message('People see it when they sign in.')],
    ['redirect_uris', message('Redirect URIs'), 'lines', message('One per line, exactly as the app sends them. People come back here after signing in.')],
    ['post_logout_redirect_uris', message('Redirect URIs after sign-out'), 'lines', message('One per line.')],
    ['scope', message('Scopes'), 'words', message('Separated by spaces: what the app may ask for beyond the profile, and what it gets when it acts for itself.')],
  ]],
  [message('Protocol'), [
    ['token_endpoint_auth_method', message('Client authentication'), 'choice'],
    ['grant_types', message('Grant types'), 'words', message('Separated by spaces. Empty: those that follow from the rest, which are authorization_code and refresh_token where people sign in, and client_credentials where there are a secret and scopes.')],
    ['response_types', message('Response types'), 'lines', message('One per line. Empty: code, where there is a redirect URI.')],
    ['jwks_uri', message('Address of its public keys'), 'url', message('Of a JWK set that the app publishes. It may change its keys there by itself.')],
    ['jwks', message('Its public keys'), 'json', message('A JWK set, as JSON, where they are at no address.')],
  ]],
  [message('Its certificate'), [
    ['tls_client_auth_subject_dn', message('Subject of its certificate'), 'text', message('Where it proves itself by tls_client_auth, one of these five is needed and no other. As RFC 4514 has it, with the most specific part first: CN=reports,O=Example.')],
    ['tls_client_auth_san_dns', message('Host name in its certificate'), 'text'],
    ['tls_client_auth_san_uri', message('Address in its certificate'), 'text'],
    ['tls_client_auth_san_ip', message('IP address in its certificate'), 'text'],
    ['tls_client_auth_san_email', message('Email address in its certificate'), 'text'],
  ]],
  [message('Signing people in'), [
    ['default_scope', message('Scopes where it asks for none'), 'words', message('Separated by spaces, such as openid profile. Empty: a request without scopes is refused.')],
    ['default_resource', message('Resource where it names none'), 'url', message('Identifier of a resource that its tokens are for, where a scope of it is granted. Empty: the resources of all granted scopes.')],
    ['require_consent', message('Permission'), 'choice'],
    ['optional_scopes', message('Scopes that people may leave out'), 'words', message('Separated by spaces, such as email. They are boxes on the page that asks for permission. Empty: all or nothing.')],
    ['default_max_age', message('Longest time since the sign-in, in seconds'), 'number', message('Who has signed in before that does it once more. Empty: however long ago.')],
    ['minimum_acr_value', message('What its people show at sign-in, at the least'), 'choice'],
    ['subject_type', message('The sub by which it knows people'), 'choice', message('If this is changed later, everybody is a stranger to the app, and refresh tokens from before are good no more.')],
  ]],
  [message('Signing people out'), [
    ['backchannel_logout_uri', message('Where the server tells it of sign-outs'), 'url', message('By back-channel logout: the server sends a logout token, also when nobody is at a browser.')],
    ['backchannel_logout_session_required', message('Whether it is told which session ended'), 'choice'],
    ['frontchannel_logout_uri', message('What browsers load to sign people out of it'), 'url', message('By front-channel logout: a page of the app at the host of a redirect URI, which ends the session that its own cookies open.')],
  ]],
  [message('Shown to people'), [
    ['client_uri', message('Home page'), 'url'],
    ['logo_uri', message('Logo'), 'url', message('People see it where they sign in to the app, and where they allow it something.')],
    ['show_logo', message('Whether its logo is shown'), 'choice'],
    ['brand_color', message('Colour'), 'text', message('Of buttons and links where people are on their way to the app, such as #0b6b5e. Empty: that of all pages.')],
    ['policy_uri', message('Privacy policy'), 'url'],
    ['tos_uri', message('Terms of service'), 'url'],
  ]],
  [message('Signed and encrypted answers'), [
    ['id_token_signed_response_alg', message('ID tokens are signed with'), 'choice'],
    ['id_token_encrypted_response_alg', message('ID tokens are encrypted to a key of the app by'), 'choice', TO_ITS_KEY],
    ['id_token_encrypted_response_enc', message('Content of encrypted ID tokens'), 'choice'],
    ['userinfo_signed_response_alg', message('Userinfo is signed with'), 'choice'],
    ['userinfo_encrypted_response_alg', message('Userinfo is encrypted to a key of the app by'), 'choice', TO_ITS_KEY],
    ['userinfo_encrypted_response_enc', message('Content of encrypted userinfo'), 'choice'],
    ['authorization_signed_response_alg', message('Answers of /authorize as JWTs (JARM) are signed with'), 'choice'],
    ['authorization_encrypted_response_alg', message('They are encrypted to a key of the app by'), 'choice', TO_ITS_KEY],
    ['authorization_encrypted_response_enc', message('Content of these, encrypted'), 'choice'],
    ['introspection_signed_response_alg', message('Introspection as a JWT is signed with'), 'choice', message('Where the client is an API that asks for such answers.')],
    ['introspection_encrypted_response_alg', message('It is encrypted to a key of the API by'), 'choice', TO_ITS_KEY],
    ['introspection_encrypted_response_enc', message('Content of encrypted introspection'), 'choice'],
  ]],
  [message('Less common settings of the protocol'), [
    ['access_token_format', message('Access tokens'), 'choice'],
    ['dpop_bound_access_tokens', message('Access tokens are bound to a key (DPoP)'), 'choice'],
    ['tls_client_certificate_bound_access_tokens', message('Access tokens are bound to a certificate (mutual TLS)'), 'choice'],
    ['require_pushed_authorization_requests', message('Pushed authorization requests (PAR)'), 'choice'],
    ['backchannel_token_delivery_mode', message('How it hears of approvals (CIBA)'), 'choice', message('Of people who are not at it. The grant urn:openid:params:grant-type:ciba is among its grant types then.')],
    ['backchannel_client_notification_endpoint', message('Where it hears of approvals'), 'url', message('By CIBA with ping: the server says there that somebody has decided.')],
    ['backchannel_authentication_request_signing_alg', message('It signs what it asks for (CIBA)'), 'choice'],
    ['token_exchange', message('Token exchange'), 'json', message('As JSON: a list of rules that say whose tokens it may exchange, and for which resources. Empty: nobody’s.')],
  ]],
] // prettier-ignore

/** Members that only clients by this method have. */
export const BY_METHOD: ReadonlyMap<string, string> = new Map(
  ['subject_dn', 'san_dns', 'san_uri', 'san_ip', 'san_email'].map((name) => [
    `tls_client_auth_${name}`,
    'tls_client_auth',
  ]),
)

/** All but the first are shut until somebody opens them, or something stands there. */
export const GROUPS = TABLE.map(([title, rows], index) => ({
  title,
  folded: index > 0,
  fields: rows.map(([name, label, kind, hint = '']): Field => ({ name, label, kind, hint })),
}))

function unencrypted(of: Encryptable) {
  return {
    [`${of}_encrypted_response_alg`]: { unset: message('It is not encrypted') },
    [`${of}_encrypted_response_enc`]: {
      unset: message('{algorithm}, where it is encrypted', { algorithm: DEFAULT_CONTENT_ENCRYPTION }),
    },
  }
}

/** Of each choice: what it is without one, and what is meant by those that do not say it themselves. */
export const CHOICES: Readonly<Record<string, { unset: Message; texts?: Readonly<Record<string, Message>> }>> = {
  token_endpoint_auth_method: { unset: message('Secret, as Basic or in the form'), texts: { none: message('none: a public client, with PKCE') } },
  access_token_format: { unset: message('As the resource says') },
  dpop_bound_access_tokens: {
    unset: message('Where the app shows a key'),
    texts: { true: message('Always: without a key, the app gets none'), false: message('Where the app shows a key') },
  },
  tls_client_certificate_bound_access_tokens: {
    unset: message('Where an API asks for it'),
    texts: { true: message('Always: without a certificate, the app gets none'), false: message('Where an API asks for it') },
  },
  require_pushed_authorization_requests: {
    unset: message('Where the app pushes'),
    texts: { true: message('Always: a request that was not pushed is refused'), false: message('Where the app pushes') },
  },
  backchannel_token_delivery_mode: {
    unset: message('It asks again and again (poll)'),
    texts: { poll: message('It asks again and again (poll)'), ping: message('It is told, and fetches its tokens (ping)') },
  },
  backchannel_authentication_request_signing_alg: { unset: message('It does not') },
  require_consent: {
    unset: message('People are asked once, and again for more'),
    texts: { true: message('People are asked'), false: message('Nobody is asked: the app is our own') },
  },
  show_logo: {
    unset: message('It is, unless the app has registered itself'),
    texts: { true: message('It is shown'), false: message('It is not shown') },
  },
  minimum_acr_value: {
    unset: message('What their account asks for'),
    texts: { 1: message('One factor, such as a password'), 2: message('Two factors, or a passkey'), phr: message('A passkey') },
  },
  subject_type: {
    unset: message('The same for every app'),
    texts: { public: message('public: the same for every app'), pairwise: message('pairwise: apps of another host know another one') },
  },
  backchannel_logout_session_required: {
    unset: message('Where there is one'),
    texts: { true: message('Always: what ends without one is not told') },
  },
  id_token_signed_response_alg: { unset: message('RS256, which every library knows') },
  userinfo_signed_response_alg: { unset: message('It is not: it is JSON') },
  authorization_signed_response_alg: { unset: message('RS256, which every library knows') },
  introspection_signed_response_alg: { unset: message('RS256, which every library knows') },
  ...unencrypted('id_token'),
  ...unencrypted('userinfo'),
  ...unencrypted('authorization'),
  ...unencrypted('introspection'),
} // prettier-ignore
