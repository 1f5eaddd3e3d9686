/** `webhook list|test`: the addresses that WEBHOOKS names, and whether they take messages. */
import { Command } from 'commander'
import type { FastifyInstance } from 'fastify'
import type { Webhooks } from '../../plugins/webhooks/webhooks.ts'
import { ConfigError } from '../config.ts'
import type { RecipientState } from '../services/outbox/recipients.ts'
import type { Webhook } from '../settings/webhooks.ts'
import { withJson } from './json-option.ts'
import { print, withServer } from './run.ts'

interface Options {
  json?: boolean
}

const NONE = 'There are no webhooks: WEBHOOKS names none.'

export function webhookCommand(): Command {
  const command = new Command('webhook').description('the addresses that WEBHOOKS names')
  withJson(command.command('list').description('what they are called, and what each is told')).action(
    async ({ json }: Options) =>
      withServer(async (_oauth, server) => {
        const all = await webhooksOf(server).list()
        const listed = all.map(({ name, shown, types, secrets, waiting, crowded, givenUp }) => ({
          name,
          address: shown,
          events: types,
          secrets: secrets.length,
          waiting,
          crowded,
          given_up: givenUp,
        }))
        const lines = all.map((one) => `${one.name}  ${one.shown}  ${one.asked.join(' ')}${stateOf(one)}`)
        print(listed, lines.length > 0 ? lines : [NONE], json)
      }),
  )
  withJson(
    command
      .command('test <webhook>')
      .description('send a signed message at once, of the type webhook.test; by its name, or its address'),
  ).action(async (wanted: string, { json }: Options) =>
    withServer(async (_oauth, server) => {
      const webhooks = webhooksOf(server)
      const webhook = chosen(webhooks.all, wanted)
      const { taken, status, milliseconds, problem, advice } = await webhooks.test(webhook)
      const { name, shown } = webhook
      if (!taken)
        throw new ConfigError(
          `${shown} did not take the message: ${problem}, after ${milliseconds} ms. ${advice}`,
        )
      const said = `${shown} took the message: it answered with ${status}, in ${milliseconds} ms.`
      print({ name, taken, status, milliseconds }, [said], json)
    }),
  )
  return command
}

/** What waits and was given up, where anything did; 501 stands for more. */
function stateOf({ waiting, crowded, givenUp }: RecipientState): string {
  const many = (count: number): string => (count > 500 ? 'more than 500' : String(count))
  return [
    ...(waiting > 0 ? [crowded ? 'as many wait as may, and the oldest are given up' : `${many(waiting)} waiting`] : []),
    ...(givenUp > 0 ? [`${many(givenUp)} given up`] : []),
  ].map((text, at) => (at === 0 ? `  ${text}` : `, ${text}`)).join('')
} // prettier-ignore

function webhooksOf(server: FastifyInstance): Webhooks {
  if (!server.hasDecorator('webhooks'))
    throw new ConfigError('There are no webhooks: WITHOUT leaves latchkey-webhooks out.')
  return server.webhooks
}

/** By its name, its address, or the beginning of either that no other has. */
function chosen(all: readonly Webhook[], wanted: string): Webhook {
  const exact = all.find(({ name, url, shown }) => [name, url, shown].includes(wanted))
  if (exact !== undefined) return exact
  const found = all.filter(({ name, url }) => name.startsWith(wanted) || url.startsWith(wanted))
  if (found.length === 1) return found[0]!
  if (all.length === 0) throw new ConfigError(NONE)
  // What was typed is not repeated: a secret may be in it.
  const names = (found.length > 0 ? found : all).map(({ name }) => name).join(', ')
  throw new ConfigError(
    found.length > 0
      ? `Several webhooks begin so: name one of ${names}.`
      : `WEBHOOKS has no such address: name one of ${names}.`,
  )
}
