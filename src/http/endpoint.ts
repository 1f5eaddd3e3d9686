/**
 * Endpoints that are registered through the door: each gets the same phases and the same refusals. What came in is read, who
 * calls is found out, the handler answers, and nobody stores that. Ours and those of strangers are the same here.
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TObject } from 'typebox'
import { ConfigError } from '../config.ts'
import type { Answer } from '../doors/answer.ts'
import type { Client } from '../doors/client.ts'
import type { Caller, Endpoint, EndpointCalls, EndpointMethod, Sent } from '../doors/endpoint.ts'
import type { FailureForm } from '../doors/failure-form.ts'
import { assertEndpoint } from '../doors/endpoint-shape.ts'
import { tooLate, type DoorRegistry } from '../doors/registry.ts'
import type { Bag } from '../protocol/bag.ts'
import { OAuthError } from '../protocol/errors.ts'
import { compileParameters } from '../protocol/parameters.ts'
import { without, type Wire } from '../protocol/wire.ts'
import { formsOf } from '../services/representations.ts'
import type { AccessToken } from '../../plugins/require-scope/access-token.ts'
import { verifiedToken } from '../../plugins/require-scope/guard.ts'
import { sendAnswer } from './answers.ts'
import { createEndpointScopes } from './endpoint-scopes.ts'
import { createAddress, type Address, type Served } from './methods.ts'
import { sending } from './ready-text.ts'
import { represent } from './representations.ts'
import { readerOf } from './sent.ts'

/** Finds out whose request it is; throws when nobody's. */
export type Authenticate = (request: FastifyRequest, wire: Wire, publicClients: boolean) => Promise<Client>

export interface Endpoints {
  register<P extends TObject, Who extends Caller = 'client'>(endpoint: Endpoint<P, Who>): void
  /** Those that the metadata names: member and path. */
  all(): readonly RegisteredEndpoint[]
}

export type RegisteredEndpoint = Required<Pick<Endpoint, 'metadata' | 'path' | 'publicClients'>>

type Doors = Pick<DoorRegistry, 'assertOpen' | 'credentials' | 'reads' | 'isRead' | 'all' | 'represents'>

/** A path, and what its methods agree on. */
interface Place {
  readonly body: 'form' | 'json'
  readonly cors: boolean
  readonly failures: FailureForm | undefined
  readonly address: Address
  readonly methods: Set<string>
}

export async function createEndpoints(
  fastify: FastifyInstance,
  prefix: string,
  authenticate: Authenticate,
  doors: Doors,
): Promise<Endpoints> {
  const named: RegisteredEndpoint[] = []
  const places = new Map<string, Place>()
  const scopeFor = await createEndpointScopes(fastify, prefix)
  const finders = findersOf(fastify, authenticate, doors)

  function placeOf({
    path,
    body = 'form',
    cors = false,
    failures,
  }: Pick<Endpoint, 'path' | 'body' | 'cors' | 'failures'>): Place {
    const known = places.get(path)
    if (known === undefined) {
      const address = createAddress(scopeFor({ body, cors }), path, failures)
      const place = { body, cors, failures, address, methods: new Set<string>() }
      places.set(path, place)
      return place
    }
    if (known.body === body && known.cors === cors && known.failures === failures) return known
    throw new ConfigError(`The methods of the endpoint ${path} must have the same body, cors and failures.`)
  }

  function register<P extends TObject, Who extends Caller = 'client'>(endpoint: Endpoint<P, Who>): void {
    assertEndpoint(endpoint)
    const { path, method = 'POST', metadata, caller = 'client' as Who, publicClients = false } = endpoint
    const what = `The endpoint ${path}`
    doors.assertOpen(what)
    const isTaken = places.get(path)?.methods.has(method) ?? false
    if (isTaken || named.some((one) => one.metadata === metadata))
      throw new ConfigError(`The endpoint ${path} (${metadata ?? method}) is registered twice.`)
    const how = serving(endpoint, finders[caller](endpoint), doors)
    const { address, methods } = placeOf(endpoint)
    methods.add(method)
    if (metadata !== undefined) named.push({ metadata, path, publicClients })
    try {
      address.serve(method, how)
    } catch (error) {
      // In an `onReady` of the app around us, which comes before that by which our doors close.
      throw (error as FastifyError).code === 'AVV_ERR_ROOT_PLG_BOOTED' ? tooLate(what) : error
    }
  }

  return { register, all: () => named }
}

/** Finds out who calls. */
interface Finder<Who extends Caller> extends Pick<Served, 'guard'> {
  find(request: FastifyRequest, reply: FastifyReply, sent: Sent): Promise<EndpointCalls[Who]>
}

type Finders = { readonly [Who in Caller]: (endpoint: EndpointOptions) => Finder<Who> }
type EndpointOptions = Pick<
  Endpoint,
  'path' | 'method' | 'publicClients' | 'scopes' | 'requireScope' | 'parameters'
>

function findersOf(fastify: FastifyInstance, authenticate: Authenticate, doors: Doors): Finders {
  return {
    client({ publicClients = false, parameters, method = 'POST' }) {
      doors.reads(parameters)
      return {
        async find(request, reply, { wire, body, path }) {
          if (isBodiless(method)) assertNoneOf(doors.credentials, wire)
          const client = await authenticate(request, wire, publicClients)
          request.actor = { kind: 'client', id: client.clientId }
          return { request, reply, client, wire: without(wire, doors.credentials), body, path }
        },
      }
    },
    bearer({ path, scopes = [], requireScope }) {
      if (requireScope === undefined && !fastify.hasDecorator('requireScope'))
        throw new ConfigError(`The endpoint ${path} takes tokens, so it needs latchkey-resource-server.`)
      const guard = (requireScope ?? fastify.requireScope)(...scopes)
      return {
        guard,
        async find(request, reply, sent) {
          // Who sends slowly has a body arrive half a minute behind what the guard has judged. What was shown for a request is shown.
          if (request.body !== undefined) await guard(request, reply)
          const token = (request as { [verifiedToken]?: AccessToken })[verifiedToken]!
          request.actor = { kind: 'client', id: token.clientId }
          return { request, reply, token, ...sent }
        },
      }
    },
    anybody: () => ({ find: async (request, reply, sent) => ({ request, reply, ...sent }) }),
  }
}

/** The phases, in their order. */
function serving<P extends TObject, Who extends Caller>(
  endpoint: Endpoint<P, Who>,
  { guard, find }: Finder<Who>,
  doors: Doors,
): Served {
  const { properties } = endpoint.parameters
  const read = readerOf(endpoint, (name) => Object.hasOwn(properties, name) || doors.isRead(name))
  const parse = compileParameters(endpoint.parameters)
  const formsFor = formsOf(doors, endpoint.path)
  const ofJson = endpoint.body === 'json' && !isBodiless(endpoint.method ?? 'POST')
  const handler = sending(async (request, reply) => {
    const call = await find(request, reply, read(request))
    const result: unknown = await endpoint.handle(parse(ofJson ? call.body : call.wire), call)
    assertAnswered(endpoint.path, result)
    const forms = formsFor(call)
    sendAnswer(reply, forms.length === 0 ? result : await represent(result, forms, call))
  })
  return { handler, ...(guard === undefined ? {} : { guard }) }
}

/** By whom no compiler reads: the sentence is for the log. */
function assertAnswered(path: string, result: unknown): asserts result is Bag | Answer {
  if (typeof result !== 'object' || result === null)
    throw new TypeError(`the endpoint ${path} must answer with an object, or with answer(…)`)
}

/** What these send stands in the address. */
function isBodiless(method: EndpointMethod): boolean {
  return method === 'GET' || method === 'DELETE'
}

/** RFC 6749 §2.3.1: an address is written into logs and histories. */
function assertNoneOf(credentials: Iterable<string>, wire: Wire): void {
  for (const name of credentials)
    if (wire[name] !== undefined)
      throw new OAuthError('invalid_request', 'what proves who a client is must not be in the address')
}
