/** The servers that hold a share of the tokens: what lies on each, whether it answers, and what asks all. Nothing on one server. */
import { Counter, Gauge, type GaugeConfiguration, type Registry } from 'prom-client'
import { ASKED_BY } from '../../src/store/distribution/everywhere.ts'
import type { Prepared, Survey } from '../../src/store/distribution/surveyed.ts'
import type { Distribution } from '../../src/store/distribution/watch.ts'

/** By the server it is of: its number, or `front` for the one that the processes are connected to. */
type Value = readonly [labels: { server: string; table?: string }, value: number]

export function measureDistribution(distribution: Distribution | null, registry: Registry): void {
  if (distribution === null) return
  const registers = [registry]
  /** Of the same survey: whoever asks while there is one under way waits for that. */
  const define = (
    { name, help, labelNames = ['server'], aggregator = 'max' }: GaugeConfiguration<'server' | 'table'>,
    valuesOf: (survey: Survey) => Value[],
  ): void => {
    const gauge = new Gauge({
      name,
      help,
      labelNames,
      aggregator,
      registers,
      async collect() {
        const survey = await distribution.look()
        gauge.reset()
        if (survey !== null) for (const [labels, value] of valuesOf(survey)) gauge.set(labels, value)
      },
    })
  }

  define(
    {
      name: 'latchkey_distribution_server_up',
      help: 'Whether a server that holds a share of the tokens answers (1) or not (0)',
      aggregator: 'min',
    },
    ({ servers }) =>
      servers.map(({ problem }, at) => [{ server: `${at + 1}` }, problem === null ? 1 : 0] as const),
  )
  define(
    {
      name: 'latchkey_distributed_table_bytes',
      help: 'Size of a distributed table with its indexes, by the server that holds this share of it',
      labelNames: ['server', 'table'],
    },
    ({ servers }) =>
      servers.flatMap(({ tables }, at) =>
        tables.map(({ table, bytes }) => [{ server: `${at + 1}`, table }, bytes] as const),
      ),
  )
  define(
    {
      name: 'latchkey_prepared_transactions',
      help: 'Transactions that are prepared on a server, and keep their rows locked until they end',
    },
    (survey) => answering(survey).map(([server, { prepared }]) => [{ server }, prepared] as const),
  )
  define(
    {
      name: 'latchkey_prepared_transactions_age_seconds',
      help: 'For how long the oldest of them has been prepared; 0 where there is none',
    },
    (survey) => answering(survey).map(([server, { oldest }]) => [{ server }, oldest] as const),
  )
  const everywhere = new Counter({
    name: 'latchkey_everywhere_statements_total',
    help: 'Statements that asked every server, by what they were for',
    labelNames: ['for'] as const,
    registers,
    collect() {
      everywhere.reset()
      for (const [name, by] of ASKED_BY) everywhere.inc({ for: by }, distribution.asked.get(name) ?? 0)
    },
  })
}

function answering({ here, servers }: Survey): [server: string, of: Prepared][] {
  const others = servers.map((one, at) => ({ ...one, server: `${at + 1}` }))
  return [
    ['front', here],
    ...others.filter(({ problem }) => problem === null).map((one): [string, Prepared] => [one.server, one]),
  ]
}
