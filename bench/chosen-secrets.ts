// Owns the question what a rush of requests costs whose client has a chosen secret, which argon2id has to verify: the first one at
// a secret that is not proven, and the next one at the same secret.

import { startLatchkey, type Client, type Started } from './contestants/latchkey-server.ts'
import { scope } from './contestant.ts'
import { cpuOf } from './cpu.ts'
import type { Stage } from './lane.ts'
import { provenance } from './machine.ts'
import { table, times, whole } from './markdown.ts'
import type { Part } from './parts.ts'
import { otherCore, pinFamily } from './pinning.ts'
import { form, postWell } from './requests.ts'
import { median } from './result.ts'

/** Requests at once. */
const BURST = 200

interface Burst {
  /** Milliseconds until all had their answer. */
  took: number
  /** Milliseconds of the server's CPU. */
  cpu: number
}

export async function measureChosenSecrets(stage: Stage): Promise<Part[]> {
  const { cluster, options } = stage
  // This process sends the requests: it stays off the server's core.
  pinFamily(process.pid, otherCore)
  const server = await startLatchkey(
    { nodeArgs: [], createDatabase: cluster.createDatabase },
    'chosen_secrets',
    {},
  )
  await burst(server, await server.createClient('jwt'))
  const rounds: { unproven: Burst; proven: Burst }[] = []
  for (let round = 1; round <= options.rounds; round++) {
    console.log(`round ${round} of ${options.rounds}`)
    const client = await server.createChosenClient(`chosen by somebody, ${round}`)
    rounds.push({ unproven: await burst(server, client), proven: await burst(server, client) })
  }
  const row = (name: string, bursts: readonly Burst[]): string[] => [
    name,
    times(median(bursts.map(({ took }) => took))),
    times(Math.max(...bursts.map(({ took }) => took))),
    whole(median(bursts.map(({ cpu }) => cpu))),
  ]
  const [unproven, proven] = [rounds.map((one) => one.unproven), rounds.map((one) => one.proven)]
  const extra = median(rounds.map((one) => one.unproven.cpu - one.proven.cpu))
  const text = [
    provenance(stage, `${options.rounds} rounds, each with a new secret`),
    table(
      [`${BURST} token requests at once`, 'until the last answer', 'in the slowest round', 'CPU ms: server'],
      [row('the secret is not proven', unproven), row('it is', proven)],
    ),
    `What proving it costs: ${whole(extra)} ms of CPU, for all of them.`,
  ].join('\n\n')
  return [{ name: 'chosen-secrets', text }]
}

async function burst({ port, pid }: Started, { client_id, client_secret }: Client): Promise<Burst> {
  const body = form({ grant_type: 'client_credentials', client_id, client_secret, scope })
  const [cpu, began] = [cpuOf(pid), performance.now()]
  await Promise.all(Array.from({ length: BURST }, async () => postWell(port, '/token', body)))
  return { took: performance.now() - began, cpu: (cpuOf(pid) - cpu) / 1000 }
}
