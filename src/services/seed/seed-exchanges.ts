/** Token exchange in SEED_FILE: rules of a section of their own, each for a client of the file, as its member `token_exchange`. */
import { metadataError } from '../../protocol/errors.ts'
import { ExchangeRule } from '../../protocol/exchange-rules.ts'
import { misfitOf } from '../../protocol/schema.ts'
import { at, type Placed } from './seed-file.ts'

/** The clients with their rules, behind those that they name themselves. Throws `ConfigError`. */
export function withExchanges(clients: readonly Placed[], exchanges: readonly Placed[]): readonly Placed[] {
  if (exchanges.length === 0) return clients
  const known = new Set(clients.map(({ entry }) => entry['client_id']))
  const rules = new Map<unknown, object[]>()
  for (const { place, entry } of exchanges) {
    const { client, ...rule } = entry
    at(place, () => {
      if (!known.has(client)) throw metadataError('client', 'must be a client of this file')
      const misfit = misfitOf(ExchangeRule, rule)
      if (misfit !== undefined) {
        const member = misfit.missing ?? misfit.instancePath.split('/')[1]
        throw metadataError(
          member ?? 'client',
          member === undefined ? misfit.message : 'is missing or malformed',
        )
      }
    })
    rules.set(client, [...(rules.get(client) ?? []), rule])
  }
  return clients.map(({ place, entry }) => {
    const own = rules.get(entry['client_id'])
    if (own === undefined) return { place, entry }
    return { place, entry: { ...entry, token_exchange: [...[entry['token_exchange'] ?? []].flat(), ...own] } }
  })
}
