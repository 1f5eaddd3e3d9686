/**
 * Rich authorization requests (RFC 9396): `authorization_details` of the types that plugins register. People read what they
 * allow, it is remembered by its content, stands in tokens, answers and introspection, and token requests may ask for less.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { ConsentLine } from '../../src/doors/approval.ts'
import type { AuthorizationDetailsType } from '../../src/doors/authorization-details.ts'
import type { Client } from '../../src/doors/client.ts'
import {
  type AuthorizationDetail,
  canonical,
  isNarrower,
  parseDetails,
  refusedDetails,
} from '../../src/protocol/authorization-details.ts'
import { isObject, parseJson } from '../../src/protocol/json.ts'
import { checkOf, Type } from '../../src/protocol/schema.ts'
import type { Words } from '../../src/protocol/message.ts'

const NAME = 'authorization_details'
type Details = readonly AuthorizationDetail[]

async function rar({ oauth }: FastifyInstance): Promise<void> {
  const types = (): ReadonlyMap<string, AuthorizationDetailsType> => oauth.owners('authorizationDetailsType')

  oauth.extendClientMetadata(
    Type.Partial(
      Type.Object({
        authorization_details_types: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
          maxItems: 50,
        }),
      }),
    ),
  )
  oauth.extend('metadata', async () =>
    types().size === 0 ? {} : { authorization_details_types_supported: [...types().keys()] },
  )

  /** Throws `invalid_authorization_details`. */
  function assertServed({ type, ...members }: AuthorizationDetail, { metadata }: Client): void {
    const served = types().get(type)
    if (served === undefined) throw refusedDetails('there is no such type')
    const allowed = metadata['authorization_details_types'] as readonly string[] | undefined
    if (allowed?.includes(type) !== true) throw refusedDetails('the client may not ask for this type')
    const { schema } = served
    if (Object.keys(members).some((name) => !Object.hasOwn(schema.properties, name)))
      throw refusedDetails('a member is not one of its type')
    const misfit = checkOf(schema)(members)
    if (misfit === undefined) return
    const [, named] = misfit.instancePath.split('/')
    throw refusedDetails(`the member ${misfit.missing ?? named ?? 'type'} is missing or malformed`)
  }

  function isWithin(less: AuthorizationDetail, approved: Details): boolean {
    const narrower = types().get(less.type)?.isWithin ?? isNarrower
    return approved.some((one) => one.type === less.type && narrower(less, one))
  }

  function lineOf(detail: AuthorizationDetail): ConsentLine {
    const type = types().get(detail.type)
    const key = canonical(detail)
    return { key, text: type?.describe(detail) ?? key, once: type?.once ?? false }
  }

  /** Undefined where its type has gone, or has changed so that it does not fit it any more: then it is said as it was. */
  function wordsOf(key: string): Words | undefined {
    const detail = parseJson(key)
    if (!isObject(detail)) return undefined
    const { type, ...members } = detail as AuthorizationDetail
    const served = types().get(type)
    return served === undefined || checkOf(served.schema)(members) !== undefined
      ? undefined
      : served.describe(detail as AuthorizationDetail)
  }

  oauth.add('parameter', {
    name: NAME,
    schema: Type.String({ maxLength: 4096 }),
    kept: true,
    parse(raw, client) {
      if (raw === undefined) return undefined
      const details = parseDetails(String(raw))
      for (const detail of details) assertServed(detail, client)
      return details
    },
    narrow(had = [], asked) {
      const less = asked as Details
      if (!less.every((one) => isWithin(one, had as Details)))
        throw refusedDetails('it goes beyond what was approved')
      return less
    },
    consent: (value) => (value as Details).map(lineOf),
    wordsOf,
  })

  for (const document of ['access_token', 'tokenResponse'] as const)
    oauth.extend(document, [NAME], async ({ parameters }) => ({ [NAME]: parameters?.[NAME] }))
  oauth.extend('introspection', [NAME], async ({ claims }) => ({ [NAME]: claims[NAME] }))
}

export default fp(rar, { name: 'latchkey-rar', dependencies: ['latchkey-oauth'] })
