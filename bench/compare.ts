// Owns the comparison: every endpoint of every contestant, in rounds; and Latchkey on a large database beside an empty one.

import { ceiling } from './contestants/ceiling.ts'
import { latchkey, latchkeyByJose, latchkeyToldOfClients } from './contestants/latchkey.ts'
import { oidcProvider } from './contestants/oidc-provider.ts'
import { costsOf } from './figures.ts'
import { goalTable } from './goals.ts'
import { enter, runRounds, warmUp, type Lane, type Stage } from './lane.ts'
import { besideCheckout, besideEmpty, ofCheckout, onCopyOf } from './beside.ts'
import { machine, provenance } from './machine.ts'
import type { Part } from './parts.ts'
import { remarks, tables } from './report.ts'
import { summarize, type Result } from './result.ts'

const entries = [ceiling, latchkey, latchkeyByJose, latchkeyToldOfClients, oidcProvider]

export async function compare(stage: Stage): Promise<Part[]> {
  const { template, beside, only, rows, write } = stage.options
  if (write && template === undefined && [...only, ...rows, beside ?? ''].some((text) => text !== ''))
    throw new Error('docs/performance.md has room for a whole comparison only')
  const results = await run(stage)
  if (template !== undefined)
    return [{ page: 'capacity.md', name: 'large', text: `${provenance(stage)}\n\n${besideEmpty(results)}` }]
  if (beside !== undefined)
    return [{ name: 'beside', text: `${provenance(stage)}\n\n${besideCheckout(results)}` }]
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

/** What clients prove who they are by, or that they have a key: each request with something that is good once. */
const PROOFS = ['_with_dpop', '_with_private_key_jwt', '_with_par_and_dpop']

export async function compareProofs(stage: Stage): Promise<Part[]> {
  const options = { ...stage.options, only: [latchkey.name, oidcProvider.name], rows: PROOFS }
  const results = await run({ ...stage, options }, [latchkey, oidcProvider])
  const text = [machine(stage), goalTable(results), tables(results), remarks(results)].join('\n\n')
  return [{ name: 'proofs', text }]
}

async function run(stage: Stage, all = entries): Promise<Result[]> {
  const { options, cluster } = stage
  const { template, beside } = options
  const twin = beside ? ofCheckout(beside, cluster) : template ? onCopyOf(template, cluster) : undefined
  const entering = twin === undefined ? all : [latchkey, twin]
  const entered: Lane[] = []
  for (const entry of entering.filter(({ name }) => options.only.some((text) => name.includes(text))))
    entered.push(...(await enter(entry, stage)))
  // What is compared alone comes one right after the other.
  const lanes = twin === undefined ? entered : entered.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  console.log('warm-up')
  for (const lane of lanes) await warmUp(lane, stage)
  await runRounds(lanes, stage)
  return summarize(lanes.map(({ series }) => series))
}
