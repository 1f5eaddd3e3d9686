/** Which attribute of SCIM is which claim here. */

/** Attributes of one value, and the claim that each is. */
export const CLAIMS = {
  displayName: 'name',
  nickName: 'nickname',
  profileUrl: 'profile',
  locale: 'locale',
  timezone: 'zoneinfo',
} as const
/** Those of `name`. */
export const NAMES = {
  familyName: 'family_name',
  givenName: 'given_name',
  middleName: 'middle_name',
} as const
/** Attributes of several values, of which the one of this type is kept, and the claim that it is. */
export const ONLY = {
  emails: { claim: 'email', type: 'work' },
  phoneNumbers: { claim: 'phone_number', type: 'work' },
  photos: { claim: 'picture', type: 'photo' },
} as const
/** Those of an address. */
export const ADDRESS = {
  formatted: 'formatted',
  streetAddress: 'street_address',
  locality: 'locality',
  region: 'region',
  postalCode: 'postal_code',
  country: 'country',
} as const

/** By what the registry calls a member of a user, the attribute that it came as. */
const ATTRIBUTES: ReadonlyMap<string, string> = new Map([
  ['username', 'userName'],
  ['address', 'addresses'],
  ...Object.entries(CLAIMS).map(([attribute, claim]) => [claim, attribute] as const),
  ...Object.entries(NAMES).map(([attribute, claim]) => [claim, `name.${attribute}`] as const),
  ...Object.entries(ONLY).map(([attribute, { claim }]) => [claim, attribute] as const),
])

/** What the registry says of a member of a user, said of the attribute that it came as. */
export function inWordsOfScim(description: string, member = ''): string {
  const attribute = ATTRIBUTES.get(member)
  const isOfIt = attribute !== undefined && description.startsWith(`${member} `)
  return isOfIt ? `${attribute}${description.slice(member.length)}` : description
}
