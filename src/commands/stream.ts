/** `stream list`: the event streams by which apps hear of security events, and what waits for each. */
import { Command } from 'commander'
import { KIND } from '../../plugins/shared-signals/queue.ts'
import { deliveredOf } from '../../plugins/shared-signals/stream.ts'
import { ConfigError } from '../config.ts'
import { withJson } from './json-option.ts'
import { print, withServer } from './run.ts'

interface Options {
  json?: boolean
}

const NONE = 'No app has a stream of security events.'
/** What is counted no further. */
const MANY = 501

export function streamCommand(): Command {
  const command = new Command('stream').description('streams of security events, by which apps hear')
  withJson(
    command.command('list').description('each with its app, its status, and what waits for it'),
  ).action(async ({ json }: Options) =>
    withServer(async ({ recipients }, server) => {
      if (!server.hasDecorator('sharedSignals'))
        throw new ConfigError('There are no streams: OIDC_SHARED_SIGNALS is off.')
      const { streams, queue } = server.sharedSignals
      const all = (await streams.list()).toSorted((a, b) => (a.client < b.client ? -1 : 1))
      const counts = await queue.counts(all.map(({ id }) => id))
      const clients = all.map(({ client }) => client)
      const states = await recipients.list(KIND, clients)
      const failing = new Map(states.map(({ recipient, failingSince }) => [recipient, failingSince]))
      const listed = all.map((stream) => ({
        client_id: stream.client,
        stream_id: stream.id,
        status: stream.status,
        ...(stream.reason === undefined ? {} : { reason: stream.reason }),
        method: stream.delivery.method,
        ...(stream.delivery.endpointUrl === undefined
          ? {}
          : { origin: originOf(stream.delivery.endpointUrl) }),
        events: deliveredOf(stream),
        waiting: counts.get(stream.id) ?? 0,
        failing_since: dateOf(failing.get(stream.client) ?? null),
      }))
      const lines = listed.map(
        ({ client_id: client, status, method, origin = 'polled', waiting, failing_since: since }) => {
          const held = waiting >= MANY ? `more than ${MANY - 1} wait` : `${waiting} wait`
          return `${client}  ${status}  ${origin === 'polled' ? method : origin}  ${held}${since === null ? '' : `  failing since ${since}`}`
        },
      )
      print(listed, lines.length > 0 ? lines : [NONE], json)
    }),
  )
  return command
}

/** In the rest of an address there may be a secret. */
function originOf(address: string): string {
  return new URL(address).origin
}

function dateOf(instant: number | null): string | null {
  return instant === null ? null : new Date(instant).toISOString()
}
