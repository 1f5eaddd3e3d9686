/** `delivery list|retry`: what could not be delivered to others for a day. */
import { Command } from 'commander'
import { ConfigError } from '../config.ts'
import type { GivenUpDelivery } from '../services/outbox/given-up.ts'
import { withJson } from './json-option.ts'
import { wholeNumber } from './option.ts'
import { print, withServer } from './run.ts'

interface Options {
  json?: boolean
  all?: boolean
  after?: string
  limit?: string
}

export function deliveryCommand(): Command {
  const command = new Command('delivery').description('what could not be delivered to others')
  withJson(command.command('list').description('deliveries that were given up after a day, the last first'))
    .option('--after <id>', 'begin behind this one')
    .option('--limit <number>', 'at most so many', '1000')
    .action(async ({ json, after, limit }: Options) =>
      withServer(async ({ givenUpDeliveries }) => {
        const { deliveries } = await givenUpDeliveries.list({ after, limit: wholeNumber('--limit', limit) })
        const listed = deliveries.map(describe)
        const none = after === undefined ? 'No delivery was given up.' : 'There are no more.'
        print(listed, listed.length > 0 ? listed.map(toLine) : [none], json)
      }),
    )
  withJson(command.command('retry [id]').description('try one again, for another day'))
    .option('--all', 'all that were given up')
    .action(async (id: string | undefined, { json, all = false }: Options) => {
      if (all === (id !== undefined)) throw new ConfigError('delivery retry needs an id, or --all.')
      await withServer(async ({ givenUpDeliveries }) => {
        if (id === undefined) {
          const retried = await givenUpDeliveries.retryAll()
          return print({ retried }, [`${retried} to be tried again`], json)
        }
        if (!(await givenUpDeliveries.retry(id)))
          throw new ConfigError(
            `No delivery ${id.slice(0, 80)} was given up: \`delivery list\` has those that were.`,
          )
        print({ id, retried: 1 }, [`${id} is to be tried again`], json)
      })
    })
  return command
}

function describe({ id, kind, recipient, enqueuedAt, givenUpAt, attempts, lastError }: GivenUpDelivery) {
  return {
    id,
    kind,
    recipient: recipient === '' ? null : recipient,
    enqueued_at: new Date(enqueuedAt).toISOString(),
    given_up_at: new Date(givenUpAt).toISOString(),
    attempts,
    last_error: lastError,
  }
}

function toLine({
  id,
  kind,
  recipient,
  given_up_at: at,
  attempts,
  last_error: error,
}: ReturnType<typeof describe>): string {
  return `${id}  ${[kind, recipient ?? []].flat().join(' ')}  given up ${at} after ${attempts}  ${error ?? 'nobody delivers it'}`
}
