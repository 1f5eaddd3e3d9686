/** The fields of the form for client metadata, as data: what each is called, how it is typed, and what may be chosen. */
import type { FieldView } from '../models.ts'

export type Field = Pick<FieldView, 'name' | 'label' | 'hint' | 'kind'>

export const CLIENT_ID: Field = {
  name: 'client_id', label: 'Client ID', kind: 'text', hint: 'Leave it empty, and one is made. It cannot be changed later.',
} // prettier-ignore

/** The fields by the titles under which they stand: the member, what people call it, how it is typed, and a hint. */
const TABLE: Readonly<Record<string, readonly (readonly [string, string, Field['kind'], string?])[]>> = {
  'The app': [
    ['client_name', 'Name', 'prose', 'People see it when they sign in.'],
    ['redirect_uris', 'Redirect URIs', 'lines', 'One per line, exactly as the app sends them. People come back here after signing in.'],
    ['post_logout_redirect_uris', 'Redirect URIs after sign-out', 'lines', 'One per line.'],
    ['scope', 'Scopes', 'words', 'Separated by spaces: what the app may ask for beyond the profile, and what it gets when it acts for itself.'],
  ],
  Protocol: [
    ['token_endpoint_auth_method', 'Client authentication', 'choice'],
    ['grant_types', 'Grant types', 'words', 'Separated by spaces. Empty: those that follow from the rest, which are authorization_code and refresh_token where people sign in, and client_credentials where there are a secret and scopes.'],
    ['response_types', 'Response types', 'lines', 'One per line. Empty: code, where there is a redirect URI.'],
    ['access_token_format', 'Access tokens', 'choice'],
  ],
  'Signing people in': [
    ['default_scope', 'Scopes where it asks for none', 'words', 'Separated by spaces, such as openid profile. Empty: a request without scopes is refused.'],
    ['require_consent', 'Permission', 'choice'],
    ['optional_scopes', 'Scopes that people may leave out', 'words', 'Separated by spaces, such as email. They are boxes on the page that asks for permission. Empty: all or nothing.'],
    ['default_max_age', 'Longest time since the sign-in, in seconds', 'number', 'Who has signed in before that does it once more. Empty: however long ago.'],
    ['minimum_acr_value', 'What its people show at sign-in, at the least', 'choice'],
    ['subject_type', 'The sub by which it knows people', 'choice', 'If this is changed later, everybody is a stranger to the app.'],
    ['id_token_signed_response_alg', 'ID tokens are signed with', 'choice'],
  ],
  'Shown to people': [
    ['client_uri', 'Home page', 'url'],
    ['logo_uri', 'Logo', 'url', 'People see it where they sign in to the app, and where they allow it something.'],
    ['show_logo', 'Whether its logo is shown', 'choice'],
    ['brand_color', 'Colour', 'text', 'Of buttons and links where people are on their way to the app, such as #0b6b5e. Empty: that of all pages.'],
    ['policy_uri', 'Privacy policy', 'url'],
    ['tos_uri', 'Terms of service', 'url'],
  ],
} // prettier-ignore

export const GROUPS = Object.entries(TABLE).map(([title, rows]) => ({
  title,
  fields: rows.map(([name, label, kind, hint = '']): Field => ({ name, label, kind, hint })),
}))

/** Of each choice: what it is without one, and what is meant by those that do not say it themselves. */
export const CHOICES: Readonly<Record<string, { unset: string; texts?: Readonly<Record<string, string>> }>> = {
  token_endpoint_auth_method: { unset: 'Secret, as Basic or in the form', texts: { none: 'none: a public client, with PKCE' } },
  access_token_format: { unset: 'As the resource says' },
  require_consent: {
    unset: 'People are asked once, and again for more',
    texts: { true: 'People are asked', false: 'Nobody is asked: the app is our own' },
  },
  show_logo: {
    unset: 'It is, unless the app has registered itself',
    texts: { true: 'It is shown', false: 'It is not shown' },
  },
  minimum_acr_value: {
    unset: 'What their account asks for',
    texts: { 1: 'One factor, such as a password', 2: 'Two factors, or a passkey', phr: 'A passkey' },
  },
  subject_type: {
    unset: 'The same for every app',
    texts: { public: 'public: the same for every app', pairwise: 'pairwise: apps of another host know another one' },
  },
  id_token_signed_response_alg: { unset: 'RS256, which every library knows' },
} // prettier-ignore
