/** The Containerfile as data: its last stage and what it is made from, for a test that does the same by hand. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'

export const checkout = resolve(import.meta.dirname, '../..')

export interface Stage {
  name: string | undefined
  /** `COPY` from the checkout: sources and destination. */
  copies: { from: string | undefined; sources: string[]; destination: string }[]
  /** Each with the user and the environment that it has by then. */
  runs: { command: string; user: string | undefined; env: Record<string, string> }[]
  user: string | undefined
  env: Record<string, string>
  healthcheck: string[]
  command: string[]
}

export async function readStages(): Promise<Stage[]> {
  const text = await readFile(resolve(checkout, 'Containerfile'), 'utf8')
  const lines = text.replaceAll(/\\\n\s*/g, '').split('\n')
  const stages: Stage[] = []
  for (const line of lines.filter((one) => one !== '' && !one.startsWith('#'))) {
    const [instruction = '', ...words] = line.split(/\s+/)
    if (instruction === 'FROM') stages.push(newStage(words[2]))
    else if (stages.length > 0) apply(stages.at(-1)!, instruction, words, line.slice(instruction.length + 1))
  }
  return stages
}

function newStage(name: string | undefined): Stage {
  return { name, copies: [], runs: [], user: undefined, env: {}, healthcheck: [], command: [] }
}

function apply(stage: Stage, instruction: string, words: string[], rest: string): void {
  if (instruction === 'COPY') {
    const from = words[0]?.startsWith('--from=') ? words.shift()!.slice(7) : undefined
    stage.copies.push({ from, sources: words.slice(0, -1), destination: words.at(-1)! })
  } else if (instruction === 'RUN')
    stage.runs.push({ command: rest, user: stage.user, env: { ...stage.env } })
  else if (instruction === 'USER') stage.user = rest
  else if (instruction === 'ENV')
    for (const pair of words) stage.env[pair.split('=')[0]!] = pair.slice(pair.indexOf('=') + 1)
  else if (instruction === 'HEALTHCHECK')
    stage.healthcheck = JSON.parse(rest.slice(rest.indexOf('['))) as string[]
  else if (instruction === 'CMD') stage.command = JSON.parse(rest) as string[]
  else if (!['WORKDIR', 'EXPOSE'].includes(instruction)) throw new Error(`What does ${instruction} do?`)
}
