/** `/openapi.json`: the interface as it is served, in OpenAPI 3.1, for programs that make clients and pages of it. */
import type { TSchema } from 'typebox'
import type { Bag } from '../../src/protocol/bag.ts'
import { isObject } from '../../src/protocol/json.ts'
import { PATH, SCOPES } from './access.ts'
import type { Operation } from './operations.ts'

/** Keywords of JSON Schema that ours have; what else stands in them is for our own pages. */
const KEYWORDS = new Set([
  'type', 'enum', 'items', 'properties', 'required', 'description', 'default', 'format', 'pattern', 'minimum', 'maximum', 'minLength',
  'maxLength', 'minItems', 'maxItems', 'readOnly', 'writeOnly',
]) // prettier-ignore
const FORMATS = new Set(['date-time'])

const ErrorSchema = {
  type: 'object',
  required: ['error', 'error_description'],
  properties: {
    error: { type: 'string' },
    error_description: { type: 'string' },
    problems: {
      type: 'array',
      description: 'What is wrong with which members of what was sent.',
      items: {
        type: 'object',
        required: ['member', 'reason'],
        properties: { member: { type: 'string' }, reason: { type: 'string' } },
      },
    },
  },
}

export function describeApi(issuer: string, operations: readonly Operation[]): Bag {
  const paths: Record<string, Record<string, Bag>> = {}
  for (const operation of operations) {
    const path = operation.path.replaceAll(/:(\w+)/g, '{$1}')
    const methods = (paths[path] ??= {})
    methods[operation.method.toLowerCase()] = describe(operation)
  }
  const scopes = Object.fromEntries(Object.entries(SCOPES).map(([name, { text }]) => [name, text]))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Administration',
      version: 'v1',
      description: 'Users, clients and all that an administrator looks after.',
    },
    servers: [{ url: `${issuer}${PATH}` }],
    paths,
    components: {
      schemas: { Error: ErrorSchema },
      responses: {
        Error: {
          description: 'Why nothing was done.',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      },
      securitySchemes: {
        oauth: {
          type: 'oauth2',
          flows: { clientCredentials: { tokenUrl: `${issuer}/token`, scopes } },
        },
      },
    },
  }
}

function describe({ method, path, name, summary, scope, query, body, answer }: Operation): Bag {
  const { status, schema } = answer
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, one]) =>
    parameter(one!, 'path', true, { type: 'string' }),
  )
  const inQuery = Object.entries(query?.properties ?? {}).map(([one, of]) =>
    parameter(one, 'query', false, plain(of)),
  )
  const parameters = [...inPath, ...inQuery]
  const content = schema === undefined ? {} : { content: { 'application/json': { schema: plain(schema) } } }
  return {
    operationId: name,
    tags: [path.split('/')[1]],
    summary,
    security: [{ oauth: [scope] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(method === 'POST' || method === 'PATCH' ? { requestBody: bodyOf(body) } : {}),
    responses: {
      [String(status)]: { description: summary, ...content },
      default: { $ref: '#/components/responses/Error' },
    },
  }
}

/** Those who send nothing else send `{}`. */
function bodyOf(schema: TSchema | undefined): Bag {
  return {
    required: true,
    content: { 'application/json': { schema: schema === undefined ? { type: 'object' } : plain(schema) } },
  }
}

function parameter(name: string, where: 'path' | 'query', required: boolean, schema: Bag): Bag {
  const { description, ...rest } = schema
  return { name, in: where, required, ...(description === undefined ? {} : { description }), schema: rest }
}

/** What of a schema of ours is JSON Schema. */
function plain(schema: object): Bag {
  const { whole, ...all } = schema as Readonly<Record<string, unknown>>
  if (isObject(whole)) return { type: 'integer', description: all['description'], ...whole }
  const kept = Object.entries(all).filter(
    ([name, value]) => KEYWORDS.has(name) && (name !== 'format' || FORMATS.has(String(value))),
  )
  return Object.fromEntries(
    kept.map(([name, value]) => {
      if (name === 'items') return [name, plain(value as object)]
      if (name !== 'properties') return [name, value]
      return [
        name,
        Object.fromEntries(Object.entries(value as object).map(([one, of]) => [one, plain(of as object)])),
      ]
    }),
  )
}
