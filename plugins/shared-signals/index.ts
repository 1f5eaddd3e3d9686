/**
 * Shared signals: a transmitter of the OpenID Shared Signals Framework 1.0. Apps that people use hear what happens to their sessions, credentials and
 * accounts, as Security Event Tokens that are pushed to them or that they collect. With `OIDC_SHARED_SIGNALS=off` nothing of it is here.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Database } from '../../src/store/database.ts'
import { createProgramAccess } from '../programs/access.ts'
import { addAdministration } from './administration.ts'
import { addConfiguration } from './configuration.ts'
import { addFanOut } from './fan-out.ts'
import { serveMetadata } from './metadata.ts'
import { addOperations } from './operations.ts'
import { createOperating, type Operating } from './operating.ts'
import { createOverview } from './overview.ts'
import { addPolling } from './polling.ts'
import { addPushing } from './pushing.ts'
import { createQueue, type Queue } from './queue.ts'
import { createServeSignals, IMPLIED, PATH, SCOPES } from './serving.ts'
import { createSets } from './sets.ts'
import { sleepingStreams } from './sleeping.ts'
import { addStatus, createSetStatus, type SetStatus } from './status.ts'
import { toWire } from './stream.ts'
import { createStreams, type Streams } from './streams.ts'
import { addSubjectEndpoints, createSubjects } from './subjects.ts'
import { addVerification } from './verification.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Where OIDC_SHARED_SIGNALS is on alone. */
    sharedSignals: {
      readonly streams: Streams
      readonly queue: Queue
      readonly setStatus: SetStatus
      readonly operating: Operating
    }
  }
}

async function sharedSignals(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config, database, seeder } = kernelOf(fastify)
  if (config.OIDC_SHARED_SIGNALS === 'off') return warnOfSleeping(fastify, database)
  const resource = `${oauth.issuer}${PATH}`
  // What is changed or removed of it here stays so.
  seeder.bring('OIDC_SHARED_SIGNALS', {
    resources: [{ resource, name: 'Security events' }],
    scopes: Object.entries(SCOPES).map(([name, { text: description }]) => ({ name, description, resource })),
  })
  const [streams, queue] = [createStreams(fastify), createQueue(fastify)]
  const parts = { streams, queue, sets: createSets(fastify), setStatus: createSetStatus({ streams, queue }) }
  const serve = createServeSignals(
    fastify,
    await createProgramAccess(fastify, { path: PATH, implies: IMPLIED }),
  )
  addConfiguration(fastify, serve, {
    ...parts,
    toWire: (stream) => toWire(oauth.issuer, (id) => `${resource}/poll/${id}`, stream),
  })
  addStatus(serve, parts)
  addVerification(serve, parts)
  addSubjectEndpoints(fastify, serve, streams)
  addPolling(fastify, serve, parts)
  addPushing(fastify, parts)
  const subjects = createSubjects(fastify)
  addFanOut(fastify, { ...parts, subjects })
  await serveMetadata(fastify)
  const operating = createOperating(parts)
  fastify.decorate('sharedSignals', { ...parts, operating })
  const overview = createOverview(fastify, queue)
  const operated = { streams, overview, subjects, operating }
  if (fastify.hasDecorator('admin')) await addAdministration(fastify, operated)
  if (fastify.hasDecorator('adminApi')) addOperations(fastify, fastify.adminApi, operated)
  // A command tells nobody anything.
  fastify.addHook('onListen', async () => {
    fastify.log.info({ resource }, 'apps may hear of security events (OIDC_SHARED_SIGNALS)')
  })
}

/** A command tells nobody anything. What keeps the database from answering, others say. */
function warnOfSleeping(fastify: FastifyInstance, database: Database): void {
  fastify.addHook('onListen', async () => {
    const sleeping = await sleepingStreams(database).catch(() => null)
    if (sleeping !== null) fastify.log.warn(sleeping)
  })
}

export default fp(sharedSignals, {
  name: 'latchkey-shared-signals',
  dependencies: ['latchkey-oauth'],
})
