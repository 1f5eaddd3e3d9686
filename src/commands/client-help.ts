/** What the help of `client create` and `client update` says of each member, in the words of the form at `/admin`. */
import type { Option } from 'commander'
import type { TSchema } from 'typebox'
import { CLIENT_ID, GROUPS } from '../../plugins/admin/clients/client-field-table.ts'
import { ClientMetadata } from '../protocol/client-metadata.ts'
import { inEnglish } from '../protocol/message.ts'
import { optionName } from './option.ts'

/** Of a form alone. */
const OF_FORMS = /^(?:One per line|Separated by spaces|Leave it empty|Empty:)/

const WORDS = new Map(
  [CLIENT_ID, ...GROUPS.flatMap(({ fields }) => fields)].map(({ name, label, hint }) => {
    const sentences = inEnglish(hint)
      .split(/(?<=\.) /)
      .filter((sentence) => sentence !== '' && !OF_FORMS.test(sentence))
    return [name, [`${inEnglish(label)}.`, ...sentences].join(' ')]
  }),
)

/** Members that no field is for, or whose field says it only with what stands around it. */
const OWN: Readonly<Record<string, string>> = {
  client_secret: 'Its secret, where one is chosen. Else one is made.',
  application_type: 'What sort of app it is.',
  contacts: 'Email addresses of those who are responsible for it.',
  initiate_login_uri: 'Where others have a sign-in to it begun.',
  sector_identifier_uri: 'Document of the apps that know people by the same sub.',
  token_endpoint_auth_signing_alg: 'By which it signs the JWTs that prove who it is.',
  require_auth_time: 'Whether its ID tokens say when people signed in.',
  require_pkce: 'Whether its codes need PKCE, though it can prove who it is.',
  require_redirect_uri_with_code:
    'Whether it repeats its redirect_uri when it exchanges a code that PKCE protects.',
  access_token_in_query: 'Whether /userinfo takes its access tokens from the address, too.',
  authorization_code_lifetime: 'How long its codes are good, in seconds.',
  require_bound_access_tokens: 'Whether its access tokens are bound to a key, by whichever way.',
  require_dpop_nonce: 'Whether its DPoP proofs carry a nonce of the server.',
  default_acr_values: 'How strongly people sign in where it asks for nothing, the best first.',
  frontchannel_logout_session_required: 'Whether it is told which session ended, by front-channel logout.',
  software_id: 'What sort of software it is, by an id of its maker.',
  software_version: 'Its version.',
  software_statement: 'A JWT in which somebody else says what it is.',
  scope: 'Scopes that it may ask for beyond the profile, and that it gets when it acts for itself.',
  require_consent: 'When people are asked for their permission.',
  profile: 'Rules that it keeps as a whole, by their name.',
}

export function describeMember(name: string, schema: TSchema): string {
  const values = (schema as { enum?: readonly string[] }).enum
  const choice = values === undefined ? '' : ` One of: ${values.join(', ')}.`
  return `${OWN[name] ?? WORDS.get(name) ?? `The member ${name}.`}${choice}`
}

/** Those of ours, with their words, each a line. */
export function membersOfPlugins(): string[] {
  return [...WORDS]
    .filter(([name]) => !Object.hasOwn(ClientMetadata.properties, name))
    .map(([name, words]) => `  ${optionName(name)} <value>  ${OWN[name] ?? words}`)
}

/** One that has a single value is not told as one that takes several. */
export function termOf({ flags, long }: Option): string {
  const name = (long ?? '').slice(2).replaceAll('-', '_')
  const schema = (ClientMetadata.properties as Readonly<Record<string, TSchema>>)[name]
  const isSingle = schema !== undefined && (schema as { type?: string }).type !== 'array'
  return isSingle ? flags.replace('...', '') : flags
}
