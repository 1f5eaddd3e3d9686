// Says which authorization servers and scopes go with this resource (RFC 9728), at the path-inserted URL and at the root.
import type { FastifyInstance } from 'fastify'
import { isDeepStrictEqual } from 'node:util'
import { openRoute } from './guard.ts'
import type { SenderConstraint } from './sender-constraint.ts'

export interface ResourceMetadata {
  /** The resource's identifier. */
  readonly resource: string
  readonly authorizationServers: readonly string[]
  readonly queryParameter: boolean
  /** The scopes of the guarded routes, still growing while routes are added. */
  readonly scopes: ReadonlySet<string>
  readonly senderConstraints: readonly SenderConstraint[]
  /** What the app adds, under its wire names. */
  readonly extra: Readonly<Record<string, unknown>>
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** Where the metadata of this resource is (RFC 9728 §3.1): the well-known part goes before the path. */
export function metadataUrl(resource: string): string {
  const { origin, pathname, search } = new URL(resource)
  return `${origin}${WELL_KNOWN}${pathname === '/' ? '' : pathname}${search}`
}

/** What the router would take for something else than the text that it is, or would not find. */
const UNROUTABLE = /\*|%(?:2[346bcf]|3[abdf]|40)/i

/** The metadata's path as the router of Fastify reads it: decoded, and without parameters. */
function patternOf(resource: string): string {
  const { pathname } = new URL(metadataUrl(resource))
  try {
    if (!UNROUTABLE.test(pathname)) return decodeURI(pathname).replaceAll(':', '::')
  } catch {
    // It is no UTF-8.
  }
  throw new TypeError(
    'requireScope: resource must have neither * nor an encoded delimiter in its path, or metadata: false',
  )
}

/** By the path of their metadata, the registrations of one app, in their order; one resource may have several. */
type Registrations = Map<string, [ResourceMetadata, ...ResourceMetadata[]]>

/** Scopes of an app have one server. */
const registered = new WeakMap<object, Registrations>()

function registrationsOf({ server }: FastifyInstance): Registrations {
  const known = registered.get(server) ?? new Map()
  registered.set(server, known)
  return known
}

/**
 * A resource that is registered twice has one document, with the scopes of both; the start ends where they do not agree on the rest.
 * @throws {TypeError} for a resource whose metadata could not be served
 * @throws {Error} below a prefix, where nobody would find the metadata
 */
export function serveMetadata(fastify: FastifyInstance, metadata: ResourceMetadata): void {
  if (fastify.prefix !== '') {
    throw new Error(
      'requireScope: register at the root of the app to serve metadata, give the app as root, or set metadata: false',
    )
  }
  const { resource } = metadata
  const path = patternOf(resource)
  const places = registrationsOf(fastify)
  const place = places.get(path)
  if (place === undefined) {
    const isTaken = (url: string): boolean => fastify.hasRoute({ method: 'GET', url })
    if (path !== WELL_KNOWN && isTaken(path))
      throw new TypeError(`requireScope: ${path} is served already: set metadata: false`)
    places.set(path, [metadata])
    for (const url of new Set([path, WELL_KNOWN]))
      // An app may hold several resources; at the root, its first one stands for it, unless one has no path.
      if (!isTaken(url)) serve(fastify, url, () => places.get(url) ?? [...places.values()][0]!)
    return
  }
  if (place[0].resource !== resource)
    throw new TypeError(
      `requireScope: the metadata of ${place[0].resource} and of ${resource} would be at one address: set metadata: false for one of them`,
    )
  place.push(metadata)
  // By then all constraints are there.
  fastify.addHook('onReady', async () => assertAlike(place[0], metadata))
}

function serve(fastify: FastifyInstance, url: string, find: () => readonly ResourceMetadata[]): void {
  const config = { [openRoute]: true }
  fastify.get(url, { config }, async (_request, reply) => {
    reply.headers({ 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' })
    reply.header('content-type', 'application/json; charset=utf-8')
    // A string, because the app's own way to serialize must not reshape it.
    return JSON.stringify(merged(find()))
  })
  // MCP clients ask with a header of their own, as others do, so browsers ask first.
  fastify.options(url, { config }, async (_request, reply) => {
    reply.headers({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': 'mcp-protocol-version, x-requested-with, x-okta-user-agent-extended',
    })
    return reply.code(204).send()
  })
}

const SCOPES = 'scopes_supported'

function assertAlike(one: ResourceMetadata, other: ResourceMetadata): void {
  const [first, second] = [document(one), document(other)]
  const differs = Object.keys({ ...first, ...second }).find(
    (name) => name !== SCOPES && !isDeepStrictEqual(first[name], second[name]),
  )
  if (differs !== undefined)
    throw new TypeError(
      `requireScope: ${one.resource} is registered twice, with another ${differs}: let both say the same, or set metadata: false for one of them`,
    )
}

function merged(registrations: readonly ResourceMetadata[]): Document {
  const documents = registrations.map(document)
  const scopes = new Set(documents.flatMap((one) => (one[SCOPES] as readonly string[] | undefined) ?? []))
  return { ...documents[0], ...(scopes.size === 0 ? {} : { [SCOPES]: [...scopes] }) }
}

type Document = Readonly<Record<string, unknown>>

function document({
  resource,
  authorizationServers,
  queryParameter,
  scopes,
  senderConstraints,
  extra,
}: ResourceMetadata): Document {
  const named = (extra[SCOPES] ?? []) as readonly string[]
  // MCP: whether a client gets a refresh token is between it and the authorization server.
  const scopesSupported = [...new Set([...named, ...scopes])].filter((scope) => scope !== 'offline_access')
  return {
    bearer_methods_supported: queryParameter ? ['header', 'query'] : ['header'],
    ...(authorizationServers.length === 0 ? {} : { authorization_servers: authorizationServers }),
    ...Object.assign({}, ...senderConstraints.map(({ metadata }) => metadata)),
    ...extra,
    resource,
    ...(scopesSupported.length === 0 ? {} : { [SCOPES]: scopesSupported }),
  }
}
