/** What is asked of a request before anything is done: what its body is, and whether it is about the present version (RFC 7644 §3.14). */
import type { FastifyRequest } from 'fastify'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isUnassigned, memberOf, valuesOf, type Members } from './attributes.ts'
import { scimError } from './errors.ts'

/** Some leave it out; who says that it is something else is mistaken. */
export function assertSchema(body: Members, schema: string): void {
  const schemas = memberOf(body, 'schemas')
  const isNamed = valuesOf(schemas).some(
    (one) => typeof one === 'string' && one.toLowerCase() === schema.toLowerCase(),
  )
  if (!isUnassigned(schemas) && !isNamed) throw scimError('invalidSyntax', `schemas must name ${schema}`)
}

/** Throws 412 where the request wants another version changed than there is. */
export function assertMatches({ headers }: FastifyRequest, version: string, what: string): void {
  const wanted = headers['if-match']
  if (wanted !== undefined && !namesVersion(wanted, version))
    throw new OAuthError('invalid_request', `the ${what} was changed meanwhile`, { status: 412 })
}

/** Whether a condition (RFC 9110 §13.1) names this version, or any. */
export function namesVersion(condition: string, version: string): boolean {
  const bare = (tag: string): string => tag.trim().replace(/^W\//, '')
  return condition.trim() === '*' || condition.split(',').some((one) => bare(one) === bare(version))
}
