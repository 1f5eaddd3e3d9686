/** What is read of somebody's entry: by which attribute they stay themselves, what they are called, and whether they may sign in there. */
import type { FastifyBaseLogger } from 'fastify'
import type { Entry as Found } from 'ldapts'
import { StandardClaims } from '../../src/protocol/claims.ts'
import { namingAttributes } from '../../src/protocol/ldap-filter.ts'
import { isMailAddress } from '../../src/protocol/mail-address.ts'
import { misfitOf } from '../../src/protocol/schema.ts'
import type { LdapConfig } from '../../src/settings/ldap.ts'
import { asTyped } from '../pages/profile-fields.ts'
import { subjectOf } from './subjects.ts'

export interface Entry {
  readonly dn: string
  /** What it keeps for ever, however it is renamed or moved, as `subjects.ts` writes it. */
  readonly subject: string
  readonly username: string | null
  /** Standard claims of OpenID Connect; `email` where there is one. */
  readonly claims: Readonly<Record<string, string>>
  /** Names of groups that the entry itself lists. */
  readonly memberOf: readonly string[]
  /** The directory says that nobody signs in as this entry. */
  readonly isDisabled: boolean
  valuesOf(attribute: string): readonly string[]
}

/** What says that an entry is disabled: of Active Directory, FreeIPA and 389, and OpenLDAP's password policy. */
const DISABLED = ['userAccountControl', 'nsAccountLock', 'pwdAccountLockedTime']
/** Of userAccountControl: ACCOUNTDISABLE. */
const ACCOUNT_DISABLED = 2
/** RFC draft-behera-ldap-password-policy §5.3.3: locked until an administrator says otherwise. */
const LOCKED_FOR_GOOD = '000001010000Z'
/** The claims that a directory's people cannot change here. */
export const OWNED = ['name', 'given_name', 'family_name', 'email'] as const

/** What is asked of an entry: operational attributes come to who names them alone. */
export function attributesOf(config: LdapConfig): string[] {
  const { idAttribute, usernameAttribute, nameAttribute, emailAttribute, userFilter } = config
  const own = [idAttribute, usernameAttribute, nameAttribute, emailAttribute, ...namingAttributes(userFilter)]
  return [...new Set([...own, 'cn', 'givenName', 'sn', 'memberOf', ...DISABLED])]
}

/** Null for one that has no value by which it could be known again. What cannot be kept here is left out, and told of. */
export function toEntry(found: Found, config: LdapConfig, log: FastifyBaseLogger): Entry | null {
  const values = new Map<string, readonly Buffer[]>()
  for (const [name, given] of Object.entries(found))
    if (name !== 'dn')
      values.set(
        name.toLowerCase(),
        [given].flat().map((one) => Buffer.from(one as string)),
      )
  const bytesOf = (attribute: string): readonly Buffer[] => values.get(attribute.toLowerCase()) ?? []
  const valuesOf = (attribute: string): string[] => bytesOf(attribute).map((one) => one.toString('utf8'))
  const first = (attribute: string): string | undefined =>
    valuesOf(attribute)
      .map((one) => one.trim())
      .find((one) => one !== '')

  const id = bytesOf(config.idAttribute)
  if (id.length !== 1 || id[0]!.length === 0) return null
  const said = {
    name: first(config.nameAttribute) ?? first('cn'),
    given_name: first('givenName'),
    family_name: first('sn'),
    email: first(config.emailAttribute),
  }
  const claims = keepable(said)
  const left = OWNED.filter((name) => said[name] !== undefined && !(name in claims))
  if (left.length > 0) log.warn({ dn: found.dn, claims: left }, 'not taken over from the directory')
  return {
    dn: found.dn,
    subject: subjectOf(config.idAttribute, id[0]!),
    username: first(config.usernameAttribute) ?? null,
    claims,
    memberOf: valuesOf('memberOf'),
    isDisabled: isDisabled(valuesOf),
    valuesOf,
  }
}

/** As if they had typed it: what the profile page would refuse reaches no app by another door. */
function keepable(
  said: Readonly<Record<(typeof OWNED)[number], string | undefined>>,
): Record<string, string> {
  const fitting = OWNED.flatMap((name) => {
    const value = said[name]
    if (value === undefined || misfitOf(StandardClaims.properties[name], value) !== undefined) return []
    return name === 'email' && !isMailAddress(value) ? [] : [[name, value] as const]
  })
  return asTyped(Object.fromEntries(fitting)) as Record<string, string>
}

function isDisabled(valuesOf: (attribute: string) => readonly string[]): boolean {
  const [control = '0'] = valuesOf('userAccountControl')
  const [lock = ''] = valuesOf('nsAccountLock')
  const [lockedAt] = valuesOf('pwdAccountLockedTime')
  return (
    (Number(control) & ACCOUNT_DISABLED) !== 0 ||
    lock.toLowerCase() === 'true' ||
    lockedAt === LOCKED_FOR_GOOD
  )
}
