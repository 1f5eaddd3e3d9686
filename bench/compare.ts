// Owns the comparison: every endpoint of every contestant, in rounds; and Latchkey on a large database beside an empty one.

import { ceiling } from './contestants/ceiling.ts'
import { latchkey, latchkeyByJose, latchkeyToldOfClients } from './contestants/latchkey.ts'
import { oidcProvider } from './contestants/oidc-provider.ts'
import { costsOf } from './figures.ts'
import { goalTable } from './goals.ts'
import { enter, runRounds, warmUp, type Lane, type Stage } from './lane.ts'
import { besideEmpty, onCopyOf } from './large-beside.ts'
import { machine, provenance } from './machine.ts'
import type { Part } from './parts.ts'
import { remarks, tables } from './report.ts'
import { summarize, type Result } from './result.ts'

const entries = [ceiling, latchkey, latchkeyByJose, latchkeyToldOfClients, oidcProvider]

export async function compare(stage: Stage): Promise<Part[]> {
  const { template, only, rows, write } = stage.options
  if (write && template === undefined && [...only, ...rows].some((text) => text !== ''))
    throw new Error('docs/performance.md has room for a whole comparison only')
  const results = await run(stage)
  if (template !== undefined)
    return [{ page: 'capacity.md', name: 'large', text: `${provenance(stage)}\n\n${besideEmpty(results)}` }]
  return [
    {
      name: 'compare',
      text: [
        machine(stage),
        goalTable(results),
        tables(results),
        '### Remarks of this run',
        remarks(results),
      ].join('\n\n'),
      figures: costsOf(results),
    },
  ]
}

async function run(stage: Stage): Promise<Result[]> {
  const { options, cluster } = stage
  const entering = options.template === undefined ? entries : [latchkey, onCopyOf(options.template, cluster)]
  const lanes: Lane[] = []
  for (const entry of entering.filter(({ name }) => options.only.some((text) => name.includes(text))))
    lanes.push(...(await enter(entry, stage)))
  console.log('warm-up')
  for (const lane of lanes) await warmUp(lane, stage)
  await runRounds(lanes, stage)
  return summarize(lanes.map(({ series }) => series))
}
