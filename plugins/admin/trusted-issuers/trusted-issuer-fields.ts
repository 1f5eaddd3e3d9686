/** The members of a trusted issuer as people edit them, and how what is registered is written in the fields. */
import { message } from '../../../src/protocol/message.ts'
import type { TrustedIssuerInformation } from '../../../src/protocol/trusted-issuer-information.ts'
import type { RecordField, Values } from '../scopes-and-resources/record-kind.ts'

export const FIELDS: readonly RecordField[] = [
  { name: 'jwks_uri', label: message('Address of its keys'), kind: 'url', hint: message('Of its JWKS, such as https://login.example/jwks. Either this or the keys themselves are needed.') },
  { name: 'jwks', label: message('Its keys'), kind: 'json', hint: message('A JWK set of public keys, where it has no address.') },
  {
    name: 'subject',
    label: message('Who its subject is here'),
    kind: 'choice',
    options: [
      { value: '', text: message('Whoever the claim below says') },
      { value: 'link', text: message('Whose account is linked by an upstream') },
      { value: 'email', text: message('Who has the address, verified') },
      { value: 'username', text: message('Who has the user name') },
      { value: 'client', text: message('Nobody: the app acts for itself') },
    ],
    hint: message('An administrator is never meant.'),
  },
  { name: 'subject_claim', label: message('The claim that says who'), hint: message('Empty: sub, of a linked account. email means a verified address, another one a user name.') },
  { name: 'scopes', label: message('Scopes'), hint: message('Separated by spaces: what its JWTs give at most, within what the app has. Empty: nothing.') },
  { name: 'resources', label: message('Resources'), kind: 'lines', hint: message('One per line. Empty: those of the scopes.') },
  { name: 'clients', label: message('Apps'), hint: message('Separated by spaces: client IDs of those who may use its JWTs. Empty: all that are registered for it.') },
  { name: 'claims', label: message('What claims must say'), kind: 'json', hint: message('Separated by spaces, such as repository=org/app, or in JSON.') },
  { name: 'audiences', label: message('Audience'), kind: 'lines', hint: message('What its JWTs have in aud, one per line. Empty: this server, or its token endpoint.') },
  { name: 'algorithms', label: message('Algorithms'), hint: message('Separated by spaces, such as ES256. Empty: all of public keys.') },
  { name: 'max_age', label: message('How old a JWT may be, in seconds'), kind: 'number', hint: message('Empty: {seconds}.', { seconds: 3600 }) },
  {
    name: 'reusable',
    label: message('A JWT of it'),
    kind: 'choice',
    options: [
      { value: '', text: message('Is good once') },
      { value: 'true', text: message('Is good more than once, as platforms of workloads need it') },
    ],
  },
  {
    name: 'disabled',
    label: message('Trust'),
    kind: 'choice',
    options: [
      { value: '', text: message('It is trusted') },
      { value: 'true', text: message('It is disabled: nothing of it is good') },
    ],
  },
] // prettier-ignore

export function valuesOf(one: TrustedIssuerInformation): Values {
  const { jwks, claims, max_age: age, reusable, disabled } = one
  return {
    jwks_uri: one.jwks_uri ?? '',
    jwks: jwks === undefined ? '' : JSON.stringify(jwks, null, 2),
    subject: one.subject ?? '',
    subject_claim: one.subject_claim ?? '',
    scopes: (one.scopes ?? []).join(' '),
    resources: (one.resources ?? []).join('\n'),
    clients: (one.clients ?? []).join(' '),
    claims: claims === undefined ? '' : rulesAsText(claims),
    audiences: (one.audiences ?? []).join('\n'),
    algorithms: (one.algorithms ?? []).join(' '),
    max_age: age === undefined ? '' : String(age),
    reusable: reusable === true ? 'true' : '',
    disabled: disabled === true ? 'true' : '',
  }
}

/** As pairs, where each can be written as one. */
function rulesAsText(rules: NonNullable<TrustedIssuerInformation['claims']>): string {
  const entries = Object.entries(rules)
  const isPair = ([name, wanted]: (typeof entries)[number]): boolean =>
    typeof wanted === 'string' && /^[^\s={]+$/.test(name) && /^\S+$/.test(wanted)
  return entries.length > 0 && entries.every(isPair)
    ? entries.map((pair) => pair.join('=')).join(' ')
    : JSON.stringify(rules, null, 2)
}
