/** `stream list|pause|enable|delete`: the event streams by which apps hear of security events, and what waits for each. */
import { Command } from 'commander'
import type { FastifyInstance } from 'fastify'
import type { Operated } from '../../plugins/shared-signals/operating.ts'
import { KIND } from '../../plugins/shared-signals/queue.ts'
import { deliveredOf, MOST_REASON, PUSH, statusToWire } from '../../plugins/shared-signals/stream.ts'
import { ConfigError } from '../config.ts'
import { isStorable } from '../protocol/json.ts'
import { withJson } from './json-option.ts'
import { print, withServer } from './run.ts'

interface Options {
  json?: boolean
  reason?: string
  yes?: boolean
}

const NONE = 'No app has a stream of security events.'
const ASLEEP_NOTE = '  asleep: its client has neither ssf.read nor ssf.manage'
/** What is counted no further. */
const MANY = 501

export function streamCommand(): Command {
  const command = new Command('stream').description('streams of security events, by which apps hear')
  withJson(
    command.command('list').description('each with its app, its status, and what waits for it'),
  ).action(async ({ json }: Options) =>
    withServer(async ({ recipients }, server) => {
      const { streams, queue } = signalsOf(server)
      const all = await streams.listKept()
      const counts = await queue.counts(all.map(({ stream }) => stream.id))
      const clients = all.map(({ stream }) => stream.client)
      const states = await recipients.list(KIND, clients)
      const failures = new Map(states.map(({ recipient, failingSince }) => [recipient, failingSince]))
      const listed = all.map(({ stream, isAsleep }) => ({
        client_id: stream.client,
        stream_id: stream.id,
        status: stream.status,
        ...(stream.reason === undefined ? {} : { reason: stream.reason }),
        ...(isAsleep ? { asleep: true } : {}),
        method: stream.delivery.method,
        ...(stream.delivery.endpointUrl === undefined
          ? {}
          : { origin: originOf(stream.delivery.endpointUrl) }),
        events: deliveredOf(stream),
        waiting: counts.get(stream.id) ?? 0,
        failing_since: stream.delivery.method === PUSH ? dateOf(failures.get(stream.client) ?? null) : null,
      }))
      const lines = listed.map(
        ({
          client_id: client,
          status,
          asleep = false,
          method,
          origin = 'polled',
          waiting,
          failing_since: since,
        }) => {
          const held = waiting >= MANY ? `more than ${MANY - 1} wait` : `${waiting} wait`
          const failing = since === null ? '' : `  failing since ${since}`
          return `${client}  ${status}  ${origin === 'polled' ? method : origin}  ${held}${failing}${asleep ? ASLEEP_NOTE : ''}`
        },
      )
      print(listed, lines.length > 0 ? lines : [NONE], json)
    }),
  )
  withJson(
    command
      .command('pause <client_id>')
      .description('hold what happens for a week, until its app or `stream enable` lets it go')
      .option('--reason <text>', 'what the app is told of it'),
  ).action(async (client: string, { json, reason }: Options) =>
    become('paused', client, {
      json,
      reason,
      said: 'what happens is held for a week. The app is told, and may enable its stream itself.',
    }),
  )
  withJson(
    command
      .command('enable <client_id>')
      .description('let go what was held, and tell what happens from now on')
      .option('--reason <text>', 'what the app is told of it'),
  ).action(async (client: string, { json, reason }: Options) =>
    become('enabled', client, { json, reason, said: 'what waited is told.' }),
  )
  withJson(command.command('delete <client_id>').description('remove a stream, with what waits for it'))
    .option('--yes', 'do it')
    .action(async (client: string, { json, yes }: Options) => {
      if (!yes) throw new ConfigError(`stream delete removes the stream of ${client} for good: add --yes.`)
      await withServer(async (_oauth, server) => {
        if (!(await signalsOf(server).streams.remove(client))) throw noStream(client)
        print(
          { client_id: client, deleted: true },
          [`The stream of ${client} is deleted, with what waited.`],
          json,
        )
      })
    })
  return command
}

interface Become {
  readonly said: string
  readonly json: boolean | undefined
  readonly reason?: string | undefined
}

/** The app is told, unless its stream is so already. */
async function become(
  status: Operated['status'],
  client: string,
  { said, json, reason }: Become,
): Promise<void> {
  if (!isStorable(reason ?? '') || (reason ?? '').length > MOST_REASON)
    throw new ConfigError(`--reason has ${MOST_REASON} characters at most, without NUL.`)
  await withServer(async (_oauth, server) => {
    const { streams, operating } = signalsOf(server)
    const had = await streams.findKeptOf(client)
    if (had === null) throw noStream(client)
    const stream = await operating.setStatus(had.stream.id, { status, reason })
    print({ client_id: client, ...statusToWire(stream) }, [`${client} is ${status}: ${said}`], json)
  })
}

function signalsOf(server: FastifyInstance): FastifyInstance['sharedSignals'] {
  if (!server.hasDecorator('sharedSignals'))
    throw new ConfigError('There are no streams: OIDC_SHARED_SIGNALS is off.')
  return server.sharedSignals
}

function noStream(client: string): ConfigError {
  return new ConfigError(
    `${client.slice(0, 80)} has no stream: \`latchkey stream list\` says which apps have one.`,
  )
}

/** In the rest of an address there may be a secret. */
function originOf(address: string): string {
  return new URL(address).origin
}

function dateOf(instant: number | null): string | null {
  return instant === null ? null : new Date(instant).toISOString()
}
