/**
 * What a monitoring system asks for, where METRICS_PORT is set: `fastify.metrics` is what this process has counted. It
 * opens no listener, and watches no request where nobody asks.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../src/config.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'

/** One metric with its values, as the library of the metrics hands it to other processes. */
export type Metric = object

export interface Metrics {
  /** The text format of Prometheus. */
  text(): Promise<string>
  /** The same for a process that adds up those of several. */
  collect(): Promise<Metric[]>
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Null where METRICS_PORT is not set. */
    metrics: Metrics | null
  }
}

async function metrics(fastify: FastifyInstance, { config }: { config: Config }): Promise<void> {
  if (config.METRICS_PORT === undefined) {
    fastify.decorate('metrics', null)
    return
  }
  const [
    { Registry, collectDefaultMetrics },
    { measureRequests },
    { measureProcess },
    { measureDistribution },
    { countEvents },
  ] = await Promise.all([
    import('prom-client'),
    import('./requests.ts'),
    import('./process.ts'),
    import('./distribution.ts'),
    import('./events.ts'),
  ])
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  measureRequests(fastify, registry)
  measureProcess(fastify, registry, config)
  fastify.addHook('onReady', async () => {
    countEvents(fastify.oauth.audit, registry)
    measureDistribution(kernelOf(fastify).database.distribution, registry)
  })
  fastify.decorate('metrics', {
    text: async () => registry.metrics(),
    collect: async () => registry.getMetricsAsJSON(),
  })
}

/** Registered before the routes, since a hook watches only those that come after it. */
export default fp(metrics, { name: 'latchkey-metrics' })
