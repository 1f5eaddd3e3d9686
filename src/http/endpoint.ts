/**
 * Back-channel endpoints: a form comes in by POST, an authenticated client's call goes to the handler, JSON goes
 * out that nobody stores. Every endpoint registered through the door gets the same phases and the same refusals.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import type { TObject } from 'typebox'
import { ConfigError } from '../config.ts'
import type { Endpoint } from '../doors/back-channel.ts'
import type { Client } from '../doors/client.ts'
import type { DoorRegistry } from '../doors/registry.ts'
import type { Bag } from '../protocol/bag.ts'
import { OAuthError } from '../protocol/errors.ts'
import { assertLengths, compileParameters } from '../protocol/parameters.ts'
import { parseForm, without, type Wire } from '../protocol/wire.ts'
import { allowBrowsers } from './cors.ts'
import { sendError } from './errors.ts'
import { acceptForms, formText, queryText } from './forms.ts'
import { keepHouseRules, scopeOptions } from './house-rules.ts'
import { sending, sendText } from './ready-text.ts'

/** Finds out whose request it is; throws when nobody's. */
export type Authenticate = (request: FastifyRequest, wire: Wire, publicClients: boolean) => Promise<Client>

export type RegisteredEndpoint = Required<Pick<Endpoint, 'metadata' | 'path' | 'publicClients'>>

export interface Endpoints {
  register<P extends TObject>(endpoint: Endpoint<P>): void
  all(): readonly RegisteredEndpoint[]
}

/** Marks a route (in its `config`) that only refuses its methods. */
export const refusing = Symbol('latchkey: refusing route')
const NOT_POST: HTTPMethods[] = ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** RFC 6749 §5.1 asks for both; Pragma is for caches of HTTP/1.0. */
const JSON_HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  pragma: 'no-cache',
} as const

/** Endpoints lie in scopes of their own, one of them open to browsers: body parser and error handler are nobody else's. */
export async function createEndpoints(
  fastify: FastifyInstance,
  prefix: string,
  authenticate: Authenticate,
  doors: Pick<DoorRegistry, 'credentials' | 'reads'>,
): Promise<Endpoints> {
  const registered: RegisteredEndpoint[] = []
  const { scope: closed } = await encapsulated(fastify, prefix, { cors: false })
  const { scope: open } = await encapsulated(fastify, prefix, { cors: true })

  function register<P extends TObject>(endpoint: Endpoint<P>): void {
    const { path, metadata, publicClients = false } = endpoint
    const parse = compileParameters(endpoint.parameters)
    const handler = sending(async (request, reply) => {
      const sent = parseBody(request)
      const client = await authenticate(request, sent, publicClients)
      const wire = without(sent, doors.credentials)
      request.actor = { kind: 'client', id: client.clientId }
      const body = await endpoint.handle(parse(wire), { request, reply, client, wire })
      sendJson(reply, body)
    })
    if (registered.some((one) => one.path === path || one.metadata === metadata))
      throw new ConfigError(`The endpoint ${path} (${metadata}) is registered twice.`)
    doors.reads(endpoint.parameters)
    registered.push({ path, metadata, publicClients })
    const scope = endpoint.cors ? open : closed
    for (const url of withSlash(scope, path)) {
      scope.post(url, handler)
      refuseOtherMethods(scope, url, NOT_POST, 'POST')
    }
  }

  return { register, all: () => registered }
}

/** An address as it is and with a slash at its end, except where the router of the app takes the two for one. */
export function withSlash(scope: FastifyInstance, path: string): string[] {
  const { ignoreTrailingSlash, routerOptions } = scope.initialConfig
  return ignoreTrailingSlash || routerOptions?.ignoreTrailingSlash ? [path] : [path, `${path}/`]
}

/** Answers the given methods at `url` with 405 and `Allow` (RFC 9110 §15.5.6). */
export function refuseOtherMethods(
  scope: FastifyInstance,
  url: string,
  methods: HTTPMethods[],
  allow: string,
): void {
  const refuse = async (): Promise<never> => {
    throw new OAuthError('invalid_request', `only ${allow} is served here`, {
      status: 405,
      headers: { allow },
    })
  }
  scope.route({
    method: methods,
    url,
    config: { [refusing]: true },
    exposeHeadRoute: methods.includes('GET'),
    // Before anything is read of the body, or asked of the caller.
    onRequest: refuse,
    handler: refuse,
  })
}

/** Sends `body` as JSON with exactly the headers of RFC 6749 §5.1. */
export function sendJson(reply: FastifyReply, body: Bag): void {
  sendText(reply, JSON_HEADERS, JSON.stringify(body))
}

/** In an object, since awaiting an instance itself would wait for the whole server, and give its root. */
async function encapsulated(
  fastify: FastifyInstance,
  prefix: string,
  { cors }: { cors: boolean },
): Promise<{ scope: FastifyInstance }> {
  let child: FastifyInstance | undefined
  await fastify.register(
    async (scope) => {
      await keepHouseRules(scope)
      if (cors) allowBrowsers(scope)
      await acceptForms(scope)
      scope.setErrorHandler(sendError)
      child = scope
    },
    scopeOptions(fastify, prefix),
  )
  return { scope: child! }
}

/** The parameters of the body. A query is not read (RFC 6749 §3.2), except to refuse a parameter sent in both. */
function parseBody(request: FastifyRequest): Wire {
  const wire = parseForm(formText(request))
  assertLengths(wire)
  for (const name in parseForm(queryText(request))) {
    if (wire[name] !== undefined)
      throw new OAuthError('invalid_request', 'a parameter is in the query and in the body')
  }
  return wire
}
