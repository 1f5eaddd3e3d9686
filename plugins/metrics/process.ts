/** What a process is like at the moment somebody asks: its connections, its hashing, its memory of changes, its keys. */
import type { FastifyInstance } from 'fastify'
import packageJson from 'latchkey/package.json' with { type: 'json' }
import { Counter, Gauge, type GaugeConfiguration, type Registry } from 'prom-client'
import type { Config } from '../../src/config.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { KeyRing } from '../../src/services/keys/key-ring.ts'

type Define = <Label extends string>(configuration: GaugeConfiguration<Label>) => Gauge<Label>

export function measureProcess(fastify: FastifyInstance, registry: Registry, config: Config): void {
  const define: Define = (configuration) => new Gauge({ ...configuration, registers: [registry] })
  measureLoad(fastify, define)
  measureKeys(fastify, define)
  if (config.DATABASE_REPLICA_URL !== undefined) measureReplica(fastify, define)
  countShed(fastify, registry)
  countDeliveries(fastify, registry)
  const processes = define({
    name: 'latchkey_processes',
    help: 'Server processes that answered, by their version',
    labelNames: ['version'],
  })
  processes.set({ version: packageJson.version }, 1)
}

function measureLoad(fastify: FastifyInstance, define: Define): void {
  define({
    name: 'latchkey_database_connections',
    help: 'Connections to the database, used or idle',
    labelNames: ['state'],
    collect() {
      const { total, idle } = kernelOf(fastify).load().connections
      this.set({ state: 'idle' }, idle)
      this.set({ state: 'used' }, total - idle)
    },
  })
  define({
    name: 'latchkey_database_waiting',
    help: 'Statements that wait for a connection to the database',
    collect() {
      this.set(kernelOf(fastify).load().connections.waiting)
    },
  })
  define({
    name: 'latchkey_hashing',
    help: 'Passwords and chosen secrets that are hashed by argon2id now, running or waiting for their turn',
    labelNames: ['state'],
    collect() {
      const { running, waiting } = kernelOf(fastify).load().hashing
      this.set({ state: 'running' }, running)
      this.set({ state: 'waiting' }, waiting)
    },
  })
  define({
    name: 'latchkey_changes_age_seconds',
    help: 'Time since changes of other processes were last read; at 60 nothing is decided from memory any more',
    aggregator: 'max',
    collect() {
      const { changesAge } = kernelOf(fastify).load()
      if (changesAge !== undefined) this.set(changesAge)
    },
  })
}

function measureReplica(fastify: FastifyInstance, define: Define): void {
  define({
    name: 'latchkey_replica_used',
    help: 'Whether lists are read from the replica of DATABASE_REPLICA_URL: 1, or 0 while they come from the primary',
    aggregator: 'min',
    collect() {
      this.set(kernelOf(fastify).listings.state()?.problem === null ? 1 : 0)
    },
  })
  define({
    name: 'latchkey_replica_behind_seconds',
    help: 'How far that replica is behind; not there while it does not answer',
    aggregator: 'max',
    collect() {
      const behind = kernelOf(fastify).listings.state()?.behind ?? null
      this.remove()
      if (behind !== null) this.set(behind)
    },
  })
}

function countShed(fastify: FastifyInstance, registry: Registry): void {
  const counter = new Counter({
    name: 'latchkey_shed_requests_total',
    help: 'Requests that were answered with 503 because a line was too long: of the process, the database or passwords',
    labelNames: ['line'] as const,
    registers: [registry],
    collect() {
      counter.reset()
      for (const [line, count] of kernelOf(fastify).shedding.counts) counter.inc({ line }, count)
    },
  })
}

function countDeliveries(fastify: FastifyInstance, registry: Registry): void {
  const counter = new Counter({
    name: 'latchkey_deliveries_total',
    help: 'Attempts to deliver something to others, by its kind and by what became of it: done, or failed, also where it is tried again',
    labelNames: ['kind', 'result'] as const,
    registers: [registry],
    collect() {
      counter.reset()
      for (const [kind, { done, failed }] of kernelOf(fastify).courier.counts) {
        counter.inc({ kind, result: 'done' }, done)
        counter.inc({ kind, result: 'failed' }, failed)
      }
    },
  })
}

function measureKeys(fastify: FastifyInstance, define: Define): void {
  define({
    name: 'latchkey_signing_key_age_seconds',
    help: 'For how long the current key of an algorithm has been the one that signs',
    labelNames: ['alg'],
    aggregator: 'max',
    collect() {
      const { keys } = kernelOf(fastify)
      for (const alg of algorithms(keys)) this.set({ alg }, (Date.now() - keys.signer(alg).signsFrom) / 1000)
    },
  })
  define({
    name: 'latchkey_signing_key_rotation_seconds',
    help: 'Time until the newest key of an algorithm gets a successor; none where OIDC_KEY_ROTATE is 0',
    labelNames: ['alg'],
    aggregator: 'min',
    collect() {
      const { keys, config } = kernelOf(fastify)
      if (config.OIDC_KEY_ROTATE === 0) return
      for (const alg of algorithms(keys)) {
        const newest = keys.keys().findLast(({ algorithm }) => algorithm === alg)!
        this.set({ alg }, (newest.signsFrom - Date.now()) / 1000 + config.OIDC_KEY_ROTATE)
      }
    },
  })
}

function algorithms(keys: KeyRing): Set<string> {
  return new Set(keys.keys().map(({ algorithm }) => algorithm))
}
