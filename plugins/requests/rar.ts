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
  detailsAt,
  eachHasItsOwn,
  isNarrower,
  locationsOf,
  parseDetails,
  refusedDetails,
  withLocations,
} from '../../src/protocol/authorization-details.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { isObject, parseJson } from '../../src/protocol/json.ts'
import { checkOf, Type } from '../../src/protocol/schema.ts'
import type { Words } from '../../src/protocol/message.ts'

const NAME = 'authorization_details'
type Details = readonly AuthorizationDetail[]

async function rar(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { audiences, directory } = kernelOf(fastify)
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

  function isAllowed(type: string, { metadata }: Client): boolean {
    const allowed = metadata['authorization_details_types'] as readonly string[] | undefined
    return allowed?.includes(type) === true
  }

  /** Throws `invalid_authorization_details`. */
  function assertServed({ type, ...members }: AuthorizationDetail, client: Client): void {
    const served = types().get(type)
    if (served === undefined) throw refusedDetails('there is no such type')
    if (!isAllowed(type, client)) throw refusedDetails('the client may not ask for this type')
    const { schema } = served
    if (Object.keys(members).some((name) => !Object.hasOwn(schema.properties, name)))
      throw refusedDetails('a member is not one of its type')
    const misfit = checkOf(schema)(members)
    if (misfit === undefined) return
    const [, named] = misfit.instancePath.split('/')
    throw refusedDetails(`the member ${misfit.missing ?? named ?? 'type'} is missing or malformed`)
  }

  /** With locations as they are registered (RFC 9396 §2.2): what an app calls otherwise is one and the same, and a token for nobody is none. */
  async function placed(detail: AuthorizationDetail): Promise<AuthorizationDetail> {
    const named = locationsOf(detail)
    if (named === undefined) return detail
    const locations = await audiences.registered(named)
    const found = await Promise.all(
      locations.map(async (one) => one === oauth.issuer || (await directory.findResource(one)) !== null),
    )
    if (locations.length === 0 || found.includes(false))
      throw refusedDetails('its locations must be resources that are registered here')
    return withLocations(detail, locations)
  }

  function isWithin(less: AuthorizationDetail, approved: AuthorizationDetail): boolean {
    if (less.type !== approved.type) return false
    const narrower = types().get(less.type)?.isWithin ?? isNarrower
    return narrower(less, approved) || canonical(less) === canonical(approved)
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
    async parse(raw, client) {
      if (raw === undefined) return undefined
      const details = parseDetails(String(raw))
      for (const detail of details) assertServed(detail, client)
      return Promise.all(details.map(placed))
    },
    resources: (value) => (value as Details).flatMap((detail) => locationsOf(detail) ?? []),
    within(value, resources) {
      const here = detailsAt(value as Details, resources)
      return here.length === 0 ? undefined : here
    },
    review(value, client) {
      const details = value as Details
      const left = details.filter(({ type }) => types().has(type) && isAllowed(type, client))
      if (left.length === details.length) return details
      return left.length === 0 ? undefined : left
    },
    /** §6: by the client's policy, which is what it is registered for and what the type allows. */
    forItself(value) {
      if (!(value as Details).every(({ type }) => types().get(type)?.withoutPeople === true))
        throw refusedDetails('nobody has approved it, and its type needs that')
      return value
    },
    narrow(had = [], asked) {
      const less = asked as Details
      if (!eachHasItsOwn(less, had as Details, isWithin))
        throw refusedDetails('it goes beyond what was approved')
      return less
    },
    consent: (value) => (value as Details).map(lineOf),
    wordsOf,
  })

  for (const document of ['access_token', 'tokenResponse'] as const)
    oauth.extend(document, [NAME], ({ parameters }) =>
      parameters?.[NAME] === undefined ? undefined : { [NAME]: parameters[NAME] },
    )
  /** §9.2: an API that is one of several sees what is for it. */
  oauth.extend('introspection', [NAME], ({ claims }, _document, { client }) => {
    const details = claims[NAME] as Details | undefined
    if (details === undefined) return undefined
    const isApi = client.clientId !== claims.client_id && [claims['aud']].flat().includes(client.clientId)
    const shown = isApi ? detailsAt(details, [client.clientId]) : details
    return shown.length === 0 ? undefined : { [NAME]: shown }
  })
}

export default fp(rar, { name: 'latchkey-rar', dependencies: ['latchkey-oauth'] })
