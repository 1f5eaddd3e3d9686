// Owns the reading of V8 CPU profiles that `npm run bench -- --profile DIR` leaves behind:
// `node bench/profile.ts DIR/latchkey.cpuprofile [COUNT]` names the functions with the most time of their own.

import { readFileSync } from 'node:fs'

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

const [file, count = '40'] = process.argv.slice(2)
if (!file) throw new Error('usage: node bench/profile.ts FILE.cpuprofile [COUNT]')
const profile = JSON.parse(readFileSync(file, 'utf8')) as Profile
const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]))

const selfTime = new Map<string, number>()
for (const [index, id] of profile.samples.entries()) {
  const name = names.get(id) ?? ''
  // The time while a server is stopped between its windows shows up as one huge delta: not work.
  const delta = profile.timeDeltas[index] ?? 0
  if (name !== '(idle)' && delta < 100_000) selfTime.set(name, (selfTime.get(name) ?? 0) + delta)
}

const total = [...selfTime.values()].reduce((sum, time) => sum + time, 0)
for (const [name, time] of [...selfTime].toSorted((a, b) => b[1] - a[1]).slice(0, Number(count))) {
  console.log(`${((time / total) * 100).toFixed(1).padStart(5)} %  ${name}`)
}

function nameOf({ functionName, url, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  const place = url.replace(/^.*\/(?=node_modules\/|src\/|plugins\/|bench\/)/, '')
  return `${functionName || '(anonymous)'}${place ? ` ${place}:${lineNumber + 1}` : ''}`
}
