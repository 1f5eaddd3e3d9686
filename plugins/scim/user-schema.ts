/** The attributes of a user that are kept here (RFC 7643 §4.1), as `/Schemas` shows them. */
import { attributeOf, PRIMARY, type Attribute, type Schema } from './attributes.ts'
import { USER } from './messages.ts'

/** An attribute of several values of which one is kept: the primary one, or else the first. */
function only(
  name: string,
  description: string,
  value: Attribute,
  type: string,
  ...more: readonly Attribute[]
): Attribute {
  return {
    name,
    type: 'complex',
    description,
    multiValued: true,
    subAttributes: [
      value,
      { name: 'type', type: 'string', description: 'What it is for.', canonicalValues: [type] },
      ...more,
    ],
  }
}

const text = (name: string, description: string): Attribute => ({ name, type: 'string', description })

export const USER_SCHEMA: Schema = {
  id: USER,
  name: 'User',
  description: 'A person who signs in',
  attributes: [
    { ...text('userName', 'By which they sign in.'), required: true, uniqueness: 'server' },
    {
      name: 'name',
      type: 'complex',
      description: 'The parts of their name.',
      subAttributes: [
        text('familyName', 'The family name.'),
        text('givenName', 'The given name.'),
        text('middleName', 'The middle name.'),
      ],
    },
    text('displayName', 'The whole name, as it is shown.'),
    text('nickName', 'How they are called.'),
    { name: 'profileUrl', type: 'reference', referenceTypes: ['external'], caseExact: true, description: 'A page about them.' },
    text('locale', 'Their language and region, such as en-GB.'),
    text('timezone', 'Their time zone, such as Europe/Berlin.'),
    { name: 'active', type: 'boolean', description: 'Whether they may sign in. False ends every session and token.' },
    { name: 'password', type: 'string', caseExact: true, mutability: 'writeOnly', returned: 'never', description: 'A new one ends every session and token.' },
    only('emails', 'Their email address.', text('value', 'The address.'), 'work', PRIMARY),
    only('phoneNumbers', 'Their telephone number.', text('value', 'The number.'), 'work'),
    only('photos', 'A picture of them.', { name: 'value', type: 'reference', referenceTypes: ['external'], caseExact: true, description: 'Its address.' }, 'photo'),
    {
      name: 'addresses',
      type: 'complex',
      description: 'Their postal address.',
      multiValued: true,
      subAttributes: [
        text('formatted', 'All of it, in lines.'),
        text('streetAddress', 'Street and number.'),
        text('locality', 'The city.'),
        text('region', 'The state or region.'),
        text('postalCode', 'The postal code.'),
        text('country', 'The country.'),
        { name: 'type', type: 'string', description: 'What it is for.', canonicalValues: ['work'] },
      ],
    },
    {
      name: 'roles',
      type: 'complex',
      description: 'What they are here beside their groups; admin is given by administrators alone.',
      multiValued: true,
      subAttributes: [{ ...text('value', 'A name without spaces.'), caseExact: true }],
    },
    {
      name: 'groups',
      type: 'complex',
      description: 'The groups that they are in; changed there.',
      multiValued: true,
      mutability: 'readOnly',
      subAttributes: [
        { name: 'value', type: 'string', caseExact: true, mutability: 'readOnly', description: 'The id of the group.' },
        { name: '$ref', type: 'reference', referenceTypes: ['Group'], caseExact: true, mutability: 'readOnly', description: 'Its address.' },
        { name: 'display', type: 'string', mutability: 'readOnly', description: 'Its name.' },
        { name: 'type', type: 'string', mutability: 'readOnly', canonicalValues: ['direct'], description: 'How they are in it.' },
      ],
    },
  ],
} // prettier-ignore

/** Of RFC 7643 §4.1, and not kept here, or not of a user: what is sent of them is ignored, as directories send all that they have. */
const NOT_KEPT: ReadonlySet<string> = new Set([
  'title', 'usertype', 'preferredlanguage', 'ims', 'entitlements', 'x509certificates', 'groups',
]) // prettier-ignore
/** The same within others. */
const NOT_KEPT_WITHIN: ReadonlySet<string> = new Set([
  'formatted', 'honorificprefix', 'honorificsuffix', 'display', 'primary', 'type',
]) // prettier-ignore

/** A name, which of its values, and one within. Of no part that another could have read too, so that what does not fit is soon seen. */
const PATH = /^(?:urn:[^[]*:)?(\w+)(\[[^\]]*\])?(?:\.(\w*))?$/

/** Whether a path is of an extension, or of an attribute of RFC 7643 that is not kept here. */
export function isForeign(path: string): boolean {
  const lower = path.toLowerCase()
  if (lower.startsWith('urn:') && !`${lower}:`.startsWith(`${USER.toLowerCase()}:`)) return true
  const [, name = '', , sub = ''] = PATH.exec(lower) ?? []
  if (NOT_KEPT.has(name)) return true
  const { subAttributes = [] } = attributeOf(USER_SCHEMA.attributes, name) ?? {}
  const isOfOne = subAttributes.length > 0 && attributeOf(subAttributes, sub) === undefined
  return isOfOne && NOT_KEPT_WITHIN.has(sub)
}
