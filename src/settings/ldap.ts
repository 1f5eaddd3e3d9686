/** A directory that people sign in by: where it is, who of it may come, and what is taken over of them (docs/ldap.md). */
import type { Static, TObject } from 'typebox'
import { userFilterProblem } from '../protocol/ldap-filter.ts'
import { isRoleName } from '../protocol/role-name.ts'
import { isLoopbackHost } from '../protocol/redirect-uri.ts'
import { Type } from '../protocol/schema.ts'
import { ConfigError } from './setting-value.ts'
import { Seconds } from './units.ts'

/** An attribute's name, without options (RFC 4512 §2.5). */
const Attribute = (fallback: string, description: string) =>
  Type.String({
    default: fallback,
    pattern: '^[A-Za-z][A-Za-z0-9-]{0,63}$',
    expects: 'the name of an attribute, such as entryUUID',
    description,
  })

export const LdapSettings = {
  LDAP_URL: Type.Optional(
    Type.String({
      description:
        'a directory whose people sign in with their password there, such as ldaps://ldap.example.com',
    }),
  ),
  LDAP_START_TLS: Type.Boolean({
    default: true,
    description:
      'whether ldap:// goes on under TLS before anything is said; ldaps:// is under TLS from the start',
  }),
  UNSAFE_LDAP_PLAINTEXT: Type.Boolean({
    default: false,
    description: 'passwords may go to another machine without TLS, where LDAP_START_TLS is false',
  }),
  LDAP_CA_FILE: Type.Optional(
    Type.String({ description: 'a file in PEM with the authorities that the directory’s certificate is of' }),
  ),
  LDAP_BIND_DN: Type.Optional(
    Type.String({
      description: 'the entry as which people are looked up; without one nobody signs in to look',
    }),
  ),
  LDAP_BIND_PASSWORD: Type.Optional(
    Type.String({ secret: true, description: 'the password of LDAP_BIND_DN' }),
  ),
  LDAP_BASE_DN: Type.Optional(
    Type.String({ description: 'where people are looked for, such as ou=people,dc=example,dc=com' }),
  ),
  LDAP_USER_FILTER: Type.String({
    default: '(|(uid={username})(mail={username}))',
    description: 'who is meant by a user name; whoever it does not find has no account here, or not any more',
  }),
  LDAP_DOMAIN: Type.Optional(
    Type.String({
      pattern: '^[^\\s\\\\]{1,64}$',
      expects: 'the name of a domain, such as CORP',
      description:
        'the domain of an Active Directory, which people may type before their user name: CORP\\ada for ada',
    }),
  ),
  LDAP_ID_ATTRIBUTE: Attribute('entryUUID', 'what an entry keeps for ever: with Active Directory objectGUID'),
  LDAP_USERNAME_ATTRIBUTE: Attribute('uid', 'the user name here: with Active Directory sAMAccountName'),
  LDAP_NAME_ATTRIBUTE: Attribute('displayName', 'the full name; where an entry has none, its cn'),
  LDAP_EMAIL_ATTRIBUTE: Attribute('mail', 'the email address'),
  LDAP_TRUST_EMAIL: Type.Boolean({
    default: false,
    description: 'whether email addresses of the directory are taken as verified',
  }),
  LDAP_ROLES: Type.Optional(
    Type.String({
      description:
        'roles by groups, with semicolons between: ROLE=DN, such as staff=cn=staff,ou=groups,dc=example,dc=com',
    }),
  ),
  LDAP_GROUP_FILTER: Type.Optional(
    Type.String({
      description:
        'what finds the groups of an entry, such as (member={dn}); without it they are in its memberOf',
    }),
  ),
  LDAP_GROUP_BASE_DN: Type.Optional(
    Type.String({ description: 'where groups are looked for; without it in LDAP_BASE_DN' }),
  ),
  LDAP_GUESSES: Type.Integer({
    default: 5,
    minimum: 1,
    maximum: 30,
    description:
      'wrong passwords of somebody that reach the directory in 15 minutes, unless they come from a browser that they have signed in with before: fewer than those after which it locks them',
  }),
  LDAP_RECHECK: Seconds(
    600,
    0,
    'after so long the directory is asked whether somebody is still there before they get another token, sign in by something else, or administer; 0 for never',
  ),
  LDAP_PASSWORD_URL: Type.Optional(
    Type.String({
      description: 'where people change their password in the directory; their account leads there',
    }),
  ),
}

type Given = Static<TObject<typeof LdapSettings>>

/** All that is needed to ask a directory. */
export interface LdapConfig {
  readonly url: URL
  readonly startTls: boolean
  readonly caFile: string | undefined
  /** Null where nobody signs in to look. */
  readonly service: { readonly dn: string; readonly password: string } | null
  readonly baseDn: string
  readonly userFilter: string
  /** What may stand before a user name, with a backslash behind it. */
  readonly domain: string | undefined
  readonly idAttribute: string
  readonly usernameAttribute: string
  readonly nameAttribute: string
  readonly emailAttribute: string
  readonly trustEmail: boolean
  /** Of each group, by its DN as it was given. */
  readonly roles: readonly { readonly role: string; readonly group: string }[]
  readonly groupFilter: string | null
  readonly groupBaseDn: string
  readonly guesses: number
  /** Seconds; 0 for never. */
  readonly recheck: number
  readonly passwordUrl: string | null
}

/** Null where no directory is named. Throws `ConfigError` for what cannot be meant. */
export function ldapConfig(settings: Given): LdapConfig | null {
  const { LDAP_URL: address } = settings
  if (address === undefined) {
    const names = Object.keys(LdapSettings) as (keyof Given)[]
    const isSet = (name: keyof Given): boolean =>
      settings[name] !== (LdapSettings[name] as { default?: unknown }).default
    const idle = names.find(isSet)
    if (idle !== undefined) throw new ConfigError(`${idle} needs LDAP_URL: without it no directory is asked.`)
    return null
  }
  const url = urlOf(address)
  const startTls = url.protocol === 'ldap:' && settings.LDAP_START_TLS
  const isPlain = url.protocol === 'ldap:' && !startTls
  if (isPlain && !isLoopbackHost(url.hostname) && !settings.UNSAFE_LDAP_PLAINTEXT)
    throw new ConfigError(
      'LDAP_START_TLS must be true, or LDAP_URL begin with ldaps://: passwords would go to another machine as they are. UNSAFE_LDAP_PLAINTEXT=true allows it.',
    )
  const { LDAP_BIND_DN: dn, LDAP_BIND_PASSWORD: password, LDAP_BASE_DN: baseDn } = settings
  if (baseDn === undefined)
    throw new ConfigError('LDAP_BASE_DN must be set where LDAP_URL is: where people are looked for.')
  if ((dn === undefined) !== (password === undefined))
    throw new ConfigError('LDAP_BIND_DN and LDAP_BIND_PASSWORD belong together: set both, or none.')
  const problem = userFilterProblem(settings.LDAP_USER_FILTER)
  if (problem !== undefined) throw new ConfigError(`LDAP_USER_FILTER ${problem}.`)
  const groupFilter = settings.LDAP_GROUP_FILTER ?? null
  if (groupFilter !== null && !/^\(.*\{(?:dn|username)\}.*\)$/.test(groupFilter))
    throw new ConfigError('LDAP_GROUP_FILTER must name {dn} or {username}, such as (member={dn}).')
  return {
    url,
    startTls,
    caFile: settings.LDAP_CA_FILE,
    service: dn === undefined || password === undefined ? null : { dn, password },
    baseDn,
    userFilter: settings.LDAP_USER_FILTER,
    domain: settings.LDAP_DOMAIN,
    idAttribute: settings.LDAP_ID_ATTRIBUTE,
    usernameAttribute: settings.LDAP_USERNAME_ATTRIBUTE,
    nameAttribute: settings.LDAP_NAME_ATTRIBUTE,
    emailAttribute: settings.LDAP_EMAIL_ATTRIBUTE,
    trustEmail: settings.LDAP_TRUST_EMAIL,
    roles: rolesOf(settings.LDAP_ROLES ?? ''),
    groupFilter,
    groupBaseDn: settings.LDAP_GROUP_BASE_DN ?? baseDn,
    guesses: settings.LDAP_GUESSES,
    recheck: settings.LDAP_RECHECK,
    passwordUrl: passwordUrlOf(settings.LDAP_PASSWORD_URL),
  }
}

/** It is not quoted: a password may be in it. */
function urlOf(address: string): URL {
  const url = URL.parse(address)
  const isOne = url !== null && /^ldaps?:$/.test(url.protocol) && url.hostname !== ''
  const more = isOne
    ? url.username + url.password + url.pathname.replace(/^\/$/, '') + url.search + url.hash
    : ''
  if (!isOne || more !== '')
    throw new ConfigError(
      'LDAP_URL must be an address such as ldaps://ldap.example.com or ldap://ldap.example.com:389, and nothing else; where people are is for LDAP_BASE_DN.',
    )
  return url
}

/** In a DN a semicolon is escaped (RFC 4514 §2.4). */
function rolesOf(text: string): LdapConfig['roles'] {
  const entries = text.split(/(?<!\\);/).filter((entry) => entry.trim() !== '')
  return entries.map((entry) => {
    const [, role = '', group = ''] = /^\s*([^=]*?)\s*=\s*(.*\S)\s*$/.exec(entry) ?? []
    if (!isRoleName(role) || !group.includes('='))
      throw new ConfigError(
        `LDAP_ROLES must have entries such as staff=cn=staff,ou=groups,dc=example,dc=com with semicolons between; it has ${JSON.stringify(entry.trim().slice(0, 80))}.`,
      )
    return { role, group }
  })
}

function passwordUrlOf(link: string | undefined): string | null {
  if (link === undefined) return null
  if (/^https?:\/\//i.test(link) && URL.canParse(link)) return link
  throw new ConfigError(
    `LDAP_PASSWORD_URL must be an https address; it is ${JSON.stringify(link.slice(0, 80))}.`,
  )
}
