/** `serve`: listens, says where, and stops in order: in-flight requests finish, then the database closes. */
import cluster from 'node:cluster'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import type { Config, SettingValues } from '../config.ts'
import { kernelOf } from '../http/kernel-of.ts'
import { risksOf } from '../words/risks.ts'
import { lossesAtStart } from '../services/durability.ts'
import type { EmbeddedPostgres } from '../services/database/embedded-postgres.ts'
import { stdoutLog } from '../services/log-destination.ts'
import { writeLine } from '../services/warning-line.ts'
import { readIdentity } from '../services/tls-identity.ts'
import { isUnavailable } from '../store/failures.ts'
import { startOwnPostgres } from '../services/database/own-postgres.ts'
import { noteServedPort } from '../services/database/served-port.ts'
import { choosePort } from './choose-port.ts'
import { type CertificateListener, listenForCertificates } from './certificate-listener.ts'
import { listenForMetrics, type MetricsListener } from './metrics-listener.ts'
import type { Preparation } from './prepare.ts'
import { readSettings } from '../settings/read-settings.ts'
import type { SampleApp } from './sample-app.ts'
import { onStopSignal, stopsWithin } from './signals.ts'
import { stopListening } from './stop-listening.ts'
import { takeAsTold } from './taking.ts'
import { putRequestsFirst } from './thread-priority.ts'
import { askSupervisor, type ChosenPort, isFirstProcess, superviseWorkers } from './workers.ts'

/** Milliseconds in which a kept connection may still ask, where SHUTDOWN_DELAY says nothing else. */
const GRACE = 500
/** The same where requests still come, each on a connection that ends with it: a crowded machine is late with them. */
const LONGEST_GRACE = 2000

export async function serve(environment: SettingValues): Promise<void> {
  const config = readSettings(environment)
  let postgres: Promise<EmbeddedPostgres> | undefined
  const isGivenUp = stopAtOnce(config, () => postgres)
  // Before anything is made: what keeps it from serving keeps it from beginning.
  if (config.MTLS_PORT !== undefined) await readIdentity(config)
  const { port, taken } = await choosePort(config.HOST, config.PORT)
  if (
    cluster.isPrimary &&
    !config.production &&
    config.DATABASE_URL === undefined &&
    !existsSync(config.DATA_DIR)
  )
    console.log(`Making the database in ${config.DATA_DIR} (once, some seconds) …`)
  // PostgreSQL starts while the modules are being loaded.
  postgres = config.DATABASE_URL === undefined ? startOwnPostgres(config.DATA_DIR) : undefined
  postgres?.catch(() => {})
  try {
    await start(environment, config, { port, taken }, postgres)
  } catch (error) {
    // What a stop ends half-way is no failure, and the stop ends this process.
    if (!isGivenUp()) throw error
  }
}

/** Until there is a server: nothing has begun that others wait for, but PostgreSQL. Comes back what tells whether it was asked. */
function stopAtOnce(config: Config, begun: () => Promise<EmbeddedPostgres> | undefined): () => boolean {
  let stopping = false
  onStopSignal(
    async (signal) => {
      stopping = true
      writeLine('info', config.LOG_LEVEL, stdoutLog(), { signal }, 'stopping')
      await begun()
        ?.then(async (embedded) => embedded.stop())
        .catch(() => {})
      process.exit(0)
    },
    () => process.exit(1),
  )
  return () => stopping
}

async function start(
  environment: SettingValues,
  config: Config,
  { port, taken }: ChosenPort,
  postgres: Promise<EmbeddedPostgres> | undefined,
): Promise<void> {
  const supervises = config.WORKERS > 1 && cluster.isPrimary
  const modules = supervises ? undefined : Promise.all([import('../server.ts'), import('./welcome.ts')])
  const preparation = cluster.isPrimary ? await prepareDatabase(config, postgres, port) : 'done'
  if (preparation !== 'done') {
    process.exitCode = preparation === 'stopped' ? 0 : 1
    return
  }
  if (modules === undefined) return superviseWorkers(config, { port, taken }, await postgres)

  const [{ buildServer }, { welcome }] = await modules
  const server = await buildServer(
    { ...environment, PORT: port },
    { postgres, strays: isFirstProcess(), logStream: stdoutLog() },
  )
  let metrics: MetricsListener | undefined
  let certificates: CertificateListener | undefined
  let sample: SampleApp | undefined
  const isStopping = stopInOrder(server, config.SHUTDOWN_DELAY, {
    stopLettingIn: async () => certificates?.close(),
    stopBeside: async () => sample?.stop(),
  })
  try {
    metrics = await offerMetrics(server)
    await putRequestsFirst()
    // The supervisor says so as soon as it listens.
    if (cluster.isWorker && !config.WORKERS_SPREAD) takeAsTold(server)
    await server.ready()
    certificates = await listenForCertificates(config, server)
    await server.listen({ host: config.HOST, port })
    // Nobody is kept from serving by a note for commands.
    if (!config.production && isFirstProcess()) await noteServedPort(config.DATA_DIR, port).catch(() => {})
    if (taken !== undefined && isFirstProcess()) server.log.warn(`${taken} is in use: ${port}`)
    server.log.info({ issuer: server.oauth.issuer, port }, 'ready')
    tellFate(await postgres, server.log)
    if (isFirstProcess()) await sayCautions(config, server.log)
    if (config.production || !isFirstProcess()) return
    const { startSampleApp } = await import('./sample-app.ts')
    sample = await startSampleApp(server, port)
    const told = welcome(server, { sample: await sample?.origin, taken })
    console.log(await told.catch((error: unknown) => leftOut(error, server.log)))
  } catch (error) {
    // What a stop ends half-way is no failure, and the stop ends this process.
    if (isStopping()) return
    metrics?.close()
    void certificates?.close()
    await Promise.all([server.close(), sample?.stop()])
    throw error
  }
}

/** Makes the database as a server needs it, where it is not; what is embedded is left where that does not come to its end. */
async function prepareDatabase(
  config: Config,
  postgres: Promise<EmbeddedPostgres> | undefined,
  port: number,
): Promise<Preparation> {
  const { prepareApart } = await import('./prepare.ts')
  const embedded = await postgres
  let preparation: Preparation = 'failed'
  try {
    preparation = await prepareApart(config, embedded, port)
  } finally {
    if (preparation !== 'done') await embedded?.stop()
  }
  return preparation
}

async function sayCautions(config: Config, log: FastifyBaseLogger): Promise<void> {
  for (const risk of await risksOf(config)) log.warn(risk)
  for (const loss of await lossesAtStart(config))
    log.warn(`THE DATABASE MAY LOSE WHAT WE ACKNOWLEDGE. ${loss}`)
}

/** Who serves already goes on without it: requests are answered with 503 while the database is away, and again when it is back. */
function leftOut(error: unknown, log: FastifyBaseLogger): string {
  if (!isUnavailable(error)) throw error
  log.warn({ err: error }, 'the database is away: what a start prints for development is left out')
  return ''
}

/** Requests are answered with 503 while it is away. Every process looks, and one says so. */
function tellFate(postgres: EmbeddedPostgres | undefined, log: FastifyBaseLogger): void {
  const said = isFirstProcess() ? log : undefined
  postgres?.watch({
    died: (file) => said?.error({ file }, 'the embedded PostgreSQL has ended, and is started again'),
    recovered: () => said?.warn('the embedded PostgreSQL serves again'),
    abandoned() {
      log.fatal('the embedded PostgreSQL has ended, and so has what would start it: this process ends too')
      process.exit(1)
    },
  })
}

/** On a listener of this process; or, for a worker, through its supervisor's. */
async function offerMetrics(server: FastifyInstance): Promise<MetricsListener | undefined> {
  const { metrics } = server
  if (metrics === null) return undefined
  if (!cluster.isWorker) return listenForMetrics(kernelOf(server).config, metrics.text)
  const { reportMetrics } = await import('./worker-metrics.ts')
  reportMetrics(metrics)
  return undefined
}

/** What there is beside the server's own listener. */
interface Beside {
  /** Nobody is let in there any more; ends when who came has gone. */
  stopLettingIn(): Promise<unknown>
  stopBeside(): Promise<unknown>
}

/**
 * Stops in order: no longer ready, no longer listening, nothing under way. Asked again, it ends with status 1. What
 * comes back tells whether it was asked.
 */
function stopInOrder(
  server: FastifyInstance,
  delay: number,
  { stopLettingIn, stopBeside }: Beside,
): () => boolean {
  let stopping = false
  onStopSignal(
    async (signal) => {
      stopping = true
      server.log.info({ signal }, 'stopping')
      setTimeout(() => process.exit(1), stopsWithin(delay)).unref()
      server.drain.begin()
      kernelOf(server).seeder.stop()
      if (delay > 0) await sleep(delay * 1000)
      const parted = stopLettingIn()
      const release = await (cluster.isWorker
        ? stopListening(
            server,
            async () => askSupervisor('look'),
            async () => askSupervisor('end'),
          )
        : stopListening(server))
      server.drain.endConnections()
      release()
      // Whoever keeps a connection ends it: if we did, a request that is on its way there would be lost.
      await Promise.race([once(server.server, 'close'), delay > 0 ? sleep(delay * 1000) : quiet(server)])
      await setImmediate()
      server.drain.closeIdle()
      await parted
      await Promise.all([server.close(), stopBeside()])
      process.exit(0)
    },
    () => process.exit(1),
  )
  return () => stopping
}

/** Ends when nobody has come or asked for a grace. */
async function quiet({ server }: FastifyInstance): Promise<void> {
  const begun = performance.now()
  let asked = begun
  // Who has just been let in is about to ask.
  for (const event of ['connection', 'request']) server.on(event, () => (asked = performance.now()))
  for (;;) {
    const left = Math.min(asked + GRACE, begun + LONGEST_GRACE) - performance.now()
    if (left <= 0) return
    await sleep(left)
    // What came while this process had no time for it counts.
    await setImmediate()
  }
}
