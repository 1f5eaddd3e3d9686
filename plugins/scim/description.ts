/** What SCIM can do here, as clients discover it (RFC 7644 §4, RFC 7643 §5 to §7). */
import type { FastifyInstance } from 'fastify'
import { notFound } from '../programs/refusals.ts'
import type { Attribute, Members, Schema } from './attributes.ts'
import { BULK_LIMITS } from './bulk.ts'
import { GROUP_SCHEMA } from './group-schema.ts'
import { LIST_RESPONSE, PATH } from './messages.ts'
import { serveOpenly } from './serving.ts'
import { USER_SCHEMA } from './user-schema.ts'
import { DEFAULT_COUNT, MOST_COUNT } from './lists.ts'

const CORE = 'urn:ietf:params:scim:schemas:core:2.0'

export function describeScim(fastify: FastifyInstance): void {
  const base = `${fastify.oauth.issuer}${PATH}`
  const all = [USER_SCHEMA, GROUP_SCHEMA]
  const types = all.map((schema) => resourceType(schema, base))
  const schemas = all.map((schema) => toWire(schema, base))

  serveOpenly(fastify, '/ServiceProviderConfig', () => providerConfig(base))
  serveOpenly(fastify, '/ResourceTypes', () => listOf(types))
  serveOpenly(fastify, '/ResourceTypes/:id', ({ path }) => oneOf(types, path['id'], 'resource type'))
  serveOpenly(fastify, '/Schemas', () => listOf(schemas))
  serveOpenly(fastify, '/Schemas/:id', ({ path }) => oneOf(schemas, path['id'], 'schema'))
}

function providerConfig(base: string): Members {
  return {
    schemas: [`${CORE}:ServiceProviderConfig`],
    patch: { supported: true },
    bulk: { supported: true, ...BULK_LIMITS },
    filter: { supported: true, maxResults: MOST_COUNT },
    changePassword: { supported: true },
    sort: { supported: true },
    etag: { supported: true },
    pagination: {
      cursor: true,
      index: true,
      defaultPaginationMethod: 'index',
      defaultPageSize: DEFAULT_COUNT,
      maxPageSize: MOST_COUNT,
    },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'OAuth 2.0 Bearer Token',
        description: `An access token of this server for the resource ${base}`,
        specUri: 'https://www.rfc-editor.org/rfc/rfc6750',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  }
}

function resourceType({ id: schema, name, description }: Schema, base: string): Members {
  return {
    schemas: [`${CORE}:ResourceType`],
    id: name,
    name,
    endpoint: `/${name}s`,
    description,
    schema,
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  }
}

function toWire({ id, name, description, attributes }: Schema, base: string): Members {
  return {
    schemas: [`${CORE}:Schema`],
    id,
    name,
    description,
    attributes: attributes.map(attributeToWire),
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
  }
}

/** With all that RFC 7643 §7 asks for, as it is where nothing is said. */
function attributeToWire({
  subAttributes,
  canonicalValues,
  referenceTypes,
  ...attribute
}: Attribute): Members {
  return {
    multiValued: false,
    required: false,
    caseExact: false,
    mutability: 'readWrite',
    returned: 'default',
    uniqueness: 'none',
    ...attribute,
    ...(canonicalValues === undefined ? {} : { canonicalValues }),
    ...(referenceTypes === undefined ? {} : { referenceTypes }),
    ...(subAttributes === undefined ? {} : { subAttributes: subAttributes.map(attributeToWire) }),
  }
}

function listOf(resources: readonly Members[]): Members {
  return {
    schemas: [LIST_RESPONSE],
    totalResults: resources.length,
    startIndex: 1,
    itemsPerPage: resources.length,
    Resources: resources,
  }
}

function oneOf(all: readonly Members[], id: string | undefined, what: string): Members {
  const found = all.find((one) => one['id'] === id)
  if (found === undefined) throw notFound(what)
  return found
}
