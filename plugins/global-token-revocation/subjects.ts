/** Whom a request names (RFC 9493), and who of ours that is, as far as the one who asks may name them. */
import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isObject, isStorable } from '../../src/protocol/json.ts'
import { isMailAddress } from '../../src/protocol/mail-address.ts'
import { domainOf } from '../../src/protocol/upstream-information.ts'
import type { Voucher } from './vouchers.ts'

/** The members that each format has, and how many characters they may have; RFC 9493 §3 knows no others. */
const FORMATS = {
  iss_sub: { iss: 2048, sub: 255 },
  email: { email: 320 },
  opaque: { id: 255 },
} as const

export type SubjectIdentifier =
  | { readonly format: 'iss_sub'; readonly iss: string; readonly sub: string }
  | { readonly format: 'email'; readonly email: string }
  | { readonly format: 'opaque'; readonly id: string }

export interface Subjects {
  /** The id of the user; null for nobody. Throws `OAuthError` where the one who asks may not name people so. Null for a program. */
  find(subject: SubjectIdentifier, voucher: Voucher | null): Promise<string | null>
}

/** Throws `invalid_request`. `name` is what the member of the body is called. */
export function readSubject(name: string, value: unknown): SubjectIdentifier {
  const malformed = (what: string): OAuthError => new OAuthError('invalid_request', `${name} ${what}`)
  if (!isObject(value)) throw malformed('must be a subject identifier, such as { format: email, email: ... }')
  const { format, ...members } = value
  if (typeof format !== 'string' || !Object.hasOwn(FORMATS, format))
    throw malformed(`must have one of these as its format: ${Object.keys(FORMATS).join(', ')}`)
  const known: Readonly<Record<string, number>> = FORMATS[format as keyof typeof FORMATS]
  if (Object.keys(members).some((member) => !Object.hasOwn(known, member)))
    throw malformed(`of the format ${format} has no members but ${Object.keys(known).join(' and ')}`)
  for (const [member, longest] of Object.entries(known)) {
    const text = members[member]
    if (typeof text !== 'string' || text === '' || text.length > longest || !isStorable(text))
      throw malformed(`of the format ${format} must have a ${member} of 1 to ${longest} characters`)
  }
  return value as SubjectIdentifier
}

export function createSubjects(fastify: FastifyInstance): Subjects {
  const { issuer, users } = fastify.oauth
  /** Not there where nobody signs in by others. */
  const { linkedSignIns: links } = fastify as Partial<Pick<FastifyInstance, 'linkedSignIns'>>

  async function linked(iss: string, sub: string): Promise<string | null> {
    return links?.ownerOf(iss, sub) ?? null
  }

  async function findByEmail(address: string): Promise<string | null> {
    return isMailAddress(address) ? ((await users.findByEmail(address))?.id ?? null) : null
  }

  async function ofProgram(subject: SubjectIdentifier): Promise<string | null> {
    if (subject.format === 'opaque') return subject.id
    if (subject.format === 'email') return findByEmail(subject.email)
    return subject.iss === issuer ? subject.sub : linked(subject.iss, subject.sub)
  }

  /** Their own people alone: those who are linked with it. An address names one of them where it is believed about addresses, and of those domains. */
  async function ofIssuer(subject: SubjectIdentifier, voucher: Voucher): Promise<string | null> {
    if (subject.format === 'opaque')
      throw new OAuthError('invalid_request', 'an issuer names people by iss_sub or email')
    if (subject.format === 'iss_sub') {
      if (subject.iss !== voucher.issuer) throw denied('an issuer names its own people alone')
      return linked(subject.iss, subject.sub)
    }
    const { trust_email: isTrusted, domains = [] } = voucher.upstream ?? {}
    if (isTrusted !== true || !domains.includes(domainOf(subject.email)))
      throw denied('the issuer is not trusted about this address here: it names people by iss_sub')
    const found = await findByEmail(subject.email)
    const linksOf = found === null ? [] : ((await links?.list(found)) ?? [])
    return linksOf.some(({ value }) => value.issuer === voucher.issuer) ? found : null
  }

  return {
    find: async (subject, voucher) => (voucher === null ? ofProgram(subject) : ofIssuer(subject, voucher)),
  }
}

function denied(description: string): OAuthError {
  return new OAuthError('access_denied', description)
}
