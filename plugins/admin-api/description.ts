/** `/openapi.json`: the interface as it is served, in OpenAPI 3.1, for programs that make clients and pages of it. */
import type { TSchema } from 'typebox'
import type { Bag } from '../../src/protocol/bag.ts'
import { Type } from '../../src/protocol/schema.ts'
import { holdersOf, PATH, SCOPES } from './access.ts'
import { createJsonSchemas, type JsonSchemas } from './json-schema.ts'
import type { Operation } from './operations.ts'

const Problem = Type.Object({ member: Type.String(), reason: Type.String() })
const ErrorSchema = Type.Object(
  {
    error: Type.Optional(Type.String({ description: 'Absent where no token was sent.' })),
    error_description: Type.String(),
    problems: Type.Optional(
      Type.Array(Problem, { description: 'What is wrong with which members of what was sent.' }),
    ),
  },
  { title: 'Error' },
)
const Nothing = Type.Object({})
/** Of every operation. */
const STATUSES = ['400', '401', '403', '404', '503']
const REFUSAL = { $ref: '#/components/responses/Error' }

export function describeApi(issuer: string, operations: readonly Operation[]): Bag {
  const schemas = createJsonSchemas()
  const paths: Record<string, Record<string, Bag>> = {}
  for (const operation of operations) {
    const path = operation.path.replaceAll(/:(\w+)/g, '{$1}')
    const methods = (paths[path] ??= {})
    methods[operation.method.toLowerCase()] = describe(operation, schemas)
  }
  const scopes = Object.fromEntries(Object.entries(SCOPES).map(([name, { text }]) => [name, text]))
  const tokenUrl = `${issuer}/token`
  const refusal = { description: 'Why nothing was done.', content: json(schemas.of(ErrorSchema)) }
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
      schemas: schemas.named,
      responses: { Error: refusal },
      securitySchemes: {
        oauth: {
          type: 'oauth2',
          description:
            'A client for itself, or an administrator who signs in: with the resource of this interface alone.',
          flows: {
            clientCredentials: { tokenUrl, scopes },
            authorizationCode: { authorizationUrl: `${issuer}/authorize`, tokenUrl, scopes },
          },
        },
      },
    },
  }
}

function describe(operation: Operation, schemas: JsonSchemas): Bag {
  const {
    method,
    path,
    name,
    summary,
    scope,
    query = Nothing,
    body = Nothing,
    judges = body,
    answer,
  } = operation
  const { status, schema } = answer
  const parameters = [
    ...[...path.matchAll(/:(\w+)/g)].map(([, one]) =>
      parameter(one!, 'path', { type: 'string', description: 'Percent-encoded.' }),
    ),
    ...Object.entries<TSchema>(query.properties).map(([one, of]) => parameter(one, 'query', schemas.of(of))),
  ]
  return {
    operationId: name,
    tags: [path.split('/')[1]],
    summary,
    security: holdersOf(scope).map((one) => ({ oauth: [one] })),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(method === 'POST' ? { requestBody: { required: true, content: json(schemas.of(judges)) } } : {}),
    ...(method === 'PATCH'
      ? { requestBody: { required: true, content: json(schemas.ofChanges(judges)) } }
      : {}),
    responses: {
      [String(status)]: {
        description: summary,
        ...(schema === undefined ? {} : { content: json(schemas.of(schema)) }),
      },
      ...Object.fromEntries([...STATUSES, 'default'].map((one) => [one, REFUSAL])),
    },
  }
}

function json(schema: Bag): Bag {
  return { 'application/json': { schema } }
}

function parameter(name: string, where: 'path' | 'query', { description, ...schema }: Bag): Bag {
  const told = description === undefined ? {} : { description }
  return { name, in: where, required: where === 'path', ...told, schema }
}
