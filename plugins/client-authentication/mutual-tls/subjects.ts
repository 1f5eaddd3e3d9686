/** By which name in its certificate a client of tls_client_auth is known (RFC 8705 §2.1.2): exactly one, written in its metadata. */
import type { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import type { Bag } from '../../../src/protocol/bag.ts'
import { metadataError } from '../../../src/protocol/errors.ts'
import { reason } from '../../../src/protocol/message.ts'
import { parseDistinguishedName, parseSubject } from './distinguished-names.ts'

interface SubjectName {
  /** Whether it can be meant. */
  readonly is: (name: string) => boolean
  readonly words: string
  readonly matches: (certificate: X509Certificate, name: string) => boolean
}

/** The name itself, and nothing that stands for it. */
const EXACTLY = { subject: 'never', wildcards: false, partialWildcards: false } as const

const NAMES: Readonly<Record<string, SubjectName>> = {
  tls_client_auth_subject_dn: {
    is: (name) => parseDistinguishedName(name) !== null,
    words: 'must be a distinguished name such as CN=reports,O=Example (RFC 4514)',
    matches: ({ subject }, name) => {
      const shown = parseSubject(subject)
      return shown !== null && isDeepStrictEqual(shown, parseDistinguishedName(name))
    },
  },
  tls_client_auth_san_dns: {
    is: (name) => /^[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?$/i.test(name),
    words: 'must be a host name',
    matches: (certificate, name) => certificate.checkHost(name, EXACTLY) !== undefined,
  },
  tls_client_auth_san_uri: {
    is: (name) => URL.canParse(name),
    words: 'must be a URI',
    matches: (certificate, name) => urisOf(certificate).includes(name),
  },
  tls_client_auth_san_ip: {
    is: (name) => isIP(name) !== 0,
    words: 'must be an IP address',
    matches: (certificate, name) => certificate.checkIP(name) !== undefined,
  },
  tls_client_auth_san_email: {
    is: (name) => /^[^@\s]+@[^@\s]+$/.test(name),
    words: 'must be an e-mail address',
    matches: (certificate, name) => certificate.checkEmail(name, EXACTLY) !== undefined,
  },
}

export const SUBJECT_NAMES: readonly string[] = Object.keys(NAMES)

/** Throws `invalid_client_metadata` for a name that is none. `isNeeded`: unless there is exactly one. */
export function assertSubjectNames(metadata: Bag, isNeeded: boolean): void {
  const given = SUBJECT_NAMES.filter((member) => metadata[member] !== undefined)
  for (const member of given)
    if (!NAMES[member]!.is(String(metadata[member]))) throw metadataError(member, NAMES[member]!.words)
  if (isNeeded && given.length !== 1)
    throw metadataError(
      'token_endpoint_auth_method',
      reason('{method} needs exactly one of {names}', { method: 'tls_client_auth', names: SUBJECT_NAMES }),
    )
}

/** Whether the certificate has the name that the client has registered. */
export function hasSubjectOf(metadata: Bag, certificate: X509Certificate): boolean {
  const given = SUBJECT_NAMES.filter((member) => metadata[member] !== undefined)
  return given.length === 1 && NAMES[given[0]!]!.matches(certificate, String(metadata[given[0]!]))
}

/** `X509Certificate.subjectAltName` is a list, in which what would read as another entry stands in quotes, as JSON has it. */
const ENTRY = /(?:^|, )([^:,"]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?=, |$)/gy

function urisOf({ subjectAltName = '' }: X509Certificate): string[] {
  const entries = [...subjectAltName.matchAll(ENTRY)]
  if (entries.map(([whole]) => whole).join('') !== subjectAltName) return []
  return entries
    .filter(([, kind]) => kind === 'URI')
    .map(([, , value = '']) => (value.startsWith('"') ? (JSON.parse(value) as string) : value))
}
