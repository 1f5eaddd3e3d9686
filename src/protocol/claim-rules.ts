/** What the claims of a JWT must say: rules as people type them or write them in JSON, and whether claims obey them. */
import { metadataError } from './errors.ts'
import { isObject, isStorable } from './json.ts'
import { reason } from './message.ts'
import { parseTyped } from './typed-pairs.ts'

/** By a claim's name what it must say: this, or one of these. */
export type ClaimRules = Readonly<Record<string, string | readonly string[]>>

const MOST = 100

/** `repository=org/app ref=refs/heads/main`, JSON, or an object. Throws `invalid_client_metadata` naming `member`. */
export function readClaimRules(member: string, value: unknown): ClaimRules {
  const { typed, twice } =
    typeof value === 'string' ? parseTyped(value, /\s+/, /^([^=]+)=([^]*)$/) : { typed: value }
  const isText = (one: unknown): boolean =>
    typeof one === 'string' && one !== '' && one.length <= 2048 && isStorable(one)
  const isRule = (one: unknown): boolean =>
    isText(one) || (Array.isArray(one) && one.length > 0 && one.length <= MOST && one.every(isText))
  if (!isObject(typed) || !Object.values(typed).every(isRule) || !Object.keys(typed).every(isText))
    throw metadataError(member, reason('must be pairs such as repository=org/app'))
  if (Object.keys(typed).length > MOST)
    throw metadataError(member, reason('must be {most} at most', { most: MOST }))
  if (twice !== undefined)
    throw metadataError(
      member,
      reason('names {claim} twice: where one of several is good, write JSON with a list of them', {
        claim: twice,
      }),
    )
  return typed as ClaimRules
}

/** Whether the claims say what the rules want; a claim that is a list has to hold it. A number is what was written only as long as it is safe. */
export function obeys(claims: Readonly<Record<string, unknown>>, rules: ClaimRules): boolean {
  return Object.entries(rules).every(([name, wanted]) => {
    const said: unknown[] = Object.hasOwn(claims, name) ? [claims[name]].flat() : []
    const texts = said.map((one) =>
      typeof one === 'boolean' || Number.isSafeInteger(one) ? String(one) : one,
    )
    return [wanted].flat().some((one) => texts.includes(one))
  })
}
