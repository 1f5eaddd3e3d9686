/**
 * Decorates the server with `fastify.oauth`: the doors of `src/doors/`, and what of the services is for everybody. Every
 * endpoint and grant, ours or a stranger's, is registered through it; it opens what it needs and closes it again.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../src/config.ts'
import { beforeRoutes } from '../../src/http/before-routes.ts'
import { createEndpoints, type Endpoints } from '../../src/http/endpoint.ts'
import { decorateKernel } from '../../src/http/kernel-of.ts'
import { isFromTrustedProxy } from '../../src/http/trusted-proxy.ts'
import type { PluginSettings, ReadSettings } from '../../src/settings/plugin-settings.ts'
import { runAs } from '../../src/services/audit/origin.ts'
import { createKernel, type Kernel } from '../../src/services/kernel.ts'
import { publishedKeysOf } from '../../src/services/keys/published-keys.ts'
import { discreet } from '../../src/services/discreet-log.ts'
import { parametersShownBy } from '../../src/services/tokens/binding.ts'
import { createSignStatement } from '../../src/services/tokens/signed-statements.ts'
import type { Database } from '../../src/store/database.ts'
import type { OAuthDoors } from './doors.ts'
import type { OAuthServices } from './services.ts'

/**
 * What plugins and embedders get: the doors, and the services that are for everybody. What ours use beside it, such as what
 * seals and signs, is behind `src/http/kernel-of.ts`.
 */
export interface OAuth extends OAuthDoors, OAuthServices {}

declare module 'fastify' {
  interface FastifyInstance {
    oauth: OAuth
  }
}

export interface OAuthOptions {
  config: Config
  /** @internal */
  database: Database
  /** @internal */
  settings: PluginSettings
  /** Whether this process removes what has expired, as often as OIDC_JANITOR_INTERVAL says. Default true. */
  janitor?: boolean
  /** Whether SEED_FILE is applied before the app is ready. Default true. */
  seeds?: boolean
}

async function oauth(fastify: FastifyInstance, options: OAuthOptions): Promise<void> {
  const { config, database, settings, janitor = true, seeds = true } = options
  const { pluginTimeout: startLimit = 0 } = fastify.initialConfig
  const kernel = createKernel(config, database, discreet(fastify.log), {
    removesExpired: janitor,
    startLimit,
  })
  decorateKernel(fastify, kernel)
  // Inherited where another issuer is registered further out.
  if (!fastify.hasRequestDecorator('actor')) fastify.decorateRequest('actor', null)
  beforeRoutes(fastify, (request, _reply, done) => {
    const caughtUp = kernel.feed.catchUp()
    if (caughtUp === undefined) runAs(request, done)
    else void caughtUp.then(() => runAs(request, done))
  })
  const endpoints = await createEndpoints(
    fastify,
    config.basePath,
    kernel.authenticator.authenticate,
    kernel.doors,
  )
  fastify.decorate('oauth', openTo(fastify, kernel, endpoints, settings.read))

  fastify.addHook('onReady', async () => {
    kernel.mail.open()
    kernel.doors.close()
    for (const sentence of kernel.profiles.open()) fastify.log.info(sentence)
    await kernel.start()
    if (!seeds) return
    await kernel.seeder.applyBrought()
    if (config.SEED_FILE !== undefined) await kernel.seeder.applyFile(config.SEED_FILE)
  })
  // Not before: whom it tells something may ask it back at once, for its keys. And a command listens to nobody.
  fastify.addHook('onListen', async () => kernel.courier.start())
  // Nor does a command, which may not have the server's settings, decide where keys are.
  fastify.addHook('onListen', async () => kernel.keys.settle())
  fastify.addHook('onClose', async () => kernel.stop())
}

/** What of the kernel everybody gets, member by member: nothing is handed out for being there. */
function openTo(root: FastifyInstance, kernel: Kernel, endpoints: Endpoints, settings: ReadSettings): OAuth {
  const { config, doors, sessions, audit, directory, verifier, revoker, mail, languages } = kernel
  return {
    issuer: config.issuer,
    root,
    config: { basePath: config.basePath, production: config.production, BRAND_NAME: config.BRAND_NAME },
    clients: kernel.clients,
    resources: kernel.resources,
    users: kernel.users,
    keys: publishedKeysOf(kernel.keys),
    sessions: {
      isOpen: sessions.isOpen,
      list: sessions.list,
      endOne: sessions.endOne,
      endAll: sessions.endAll,
    },
    authorizations: kernel.authorizations,
    languages: {
      tags: languages.tags,
      of: languages.of,
      add(tag, messages) {
        doors.assertOpen(`The catalogue of ${tag}`)
        languages.add(tag, messages)
      },
    },
    mail: { send: mail.send, isOn: mail.isOn, kept: mail.kept },
    audit: { list: audit.list, activity: audit.activity, observe: audit.observe, on: audit.on },
    registerGrant: doors.registerGrant,
    registerEndpoint: endpoints.register,
    register: doors.register,
    add: doors.add,
    extend: doors.extend,
    extendClientMetadata: kernel.policies.extend,
    idTokens: kernel.idTokens,
    selfRegistration: kernel.selfRegistration,
    settings,
    signStatement: createSignStatement(kernel.signJwt, kernel.issuer),
    fetch: kernel.fetch,
    deliver: (delivery) => doors.register('delivery', delivery.kind, delivery),
    enqueue: kernel.outbox.enqueue,
    enqueueOn(types, enqueuer) {
      doors.assertOpen(`What goes with ${[types].flat().join(', ')}`)
      kernel.outbox.enqueueOn(types, enqueuer)
    },
    givenUpDeliveries: kernel.givenUpDeliveries,
    artifacts: kernel.artifacts,
    records: kernel.records,
    once: kernel.once,
    secret: kernel.secret,
    throttle: kernel.throttle,
    endpoints: endpoints.all,
    owners: doors.owners,
    findClient: directory.findClient,
    admitClient: directory.admitClient,
    parseOpenMetadata: kernel.parseOpenMetadata,
    findScope: directory.findScope,
    findResource: directory.findResource,
    findUser: directory.findUser,
    subjectOf: kernel.subjectOf,
    parseApproval: kernel.approvals.parse,
    parseRequest: kernel.authorizationRequests.parse,
    parametersShownBy: async (call) => parametersShownBy(doors.all('senderConstraint'), call),
    checkSecret: kernel.checkSecret,
    clientKeys: kernel.clientKeys,
    isFromTrustedProxy,
    issue: kernel.tokenIssuer.issue,
    verify: verifier.verify,
    readToken: verifier.read,
    revokeToken: revoker.revokeToken,
    revoke: revoker.revokeAuthorization,
  }
}

export default fp(oauth, { name: 'latchkey-oauth', fastify: '5.x' })
