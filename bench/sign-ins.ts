// Owns the question whether people who sign in, whose passwords are hashed slowly, starve the token endpoint: its
// rate and times without them and with twenty of them at once, in turn, in one run; as fast as it can, and at half load. Of
// several processes, one after the other: two with equal settings may differ.

import { pidsOf, type Contestant } from './contestant.ts'
import { tokenRow } from './contestants/latchkey.ts'
import { startLatchkey, userClient } from './contestants/latchkey-server.ts'
import { startCrowd } from './crowd.ts'
import { newLane, runWindow, supply, warmUp, type Lane, type Stage } from './lane.ts'
import type { Measured } from './load-protocol.ts'
import { provenance } from './machine.ts'
import { factor, table, times, whole } from './markdown.ts'
import type { Part } from './parts.ts'
import { otherCore, pause, pinFamily, resume } from './pinning.ts'
import { median, rateOf } from './result.ts'
import { signIn, type UserClient } from './user-client.ts'

const atOnce = 20
const processes = 3

interface Figures {
  rate: number
  p50: number
  p99: number
}

interface Round {
  without: Figures
  beside: Figures
  signInsPerSecond: number
}

export async function measureSignIns(stage: Stage): Promise<Part[]> {
  console.log(`starting latchkey, for ${atOnce} sign-ins at once`)
  // This process plays the people: it stays off the server's core.
  pinFamily(process.pid, otherCore)
  const tries: { full: Round[]; paced: Round[] }[] = []
  for (let number = 1; number <= processes; number++) {
    console.log(`process ${number} of ${processes}`)
    const { contestant, people } = await prepare(stage, `sign_ins_${number}`)
    const lane = newLane(contestant, contestant.rows[0]!)
    await supply(lane, 1, stage)
    await warmUp(lane, stage)
    const full = await runRounds(lane, people, stage)
    const half = median(full.map(({ without }) => without.rate)) / 2
    tries.push({ full, paced: await runRounds(lane, people, stage, half) })
  }
  const late = tries.map(({ paced }) => times(median(paced.map(({ beside }) => beside.p99))))
  const text = [
    provenance(stage),
    table(
      ['client_credentials, JWT', 'requests/s', 'median time', '99th percentile', 'sign-ins/s'],
      [
        ...rows(
          'as many as it can',
          tries.flatMap(({ full }) => full),
        ),
        ...rows(
          'half of that',
          tries.flatMap(({ paced }) => paced),
        ),
      ],
    ),
    `The 99th percentile at half load beside them, process by process: ${late.join(', ')}; the goal is less than 20 ms in each.`,
  ].join('\n\n')
  return [{ name: 'logins', text }]
}

/** Four users, each of whom five people are: success after success of one account is never throttled. */
async function prepare(
  { cluster }: Stage,
  database: string,
): Promise<{ contestant: Contestant; people: UserClient[] }> {
  const ground = { nodeArgs: [], createDatabase: cluster.createDatabase }
  const server = await startLatchkey(ground, database, {})
  const machineClient = await server.createClient('jwt')
  const webClient = await server.createWebClient('jwt', 'ES256')
  const users: UserClient[] = []
  for (const name of ['ada', 'bob', 'cyd', 'dan']) {
    const user = userClient(server, webClient, await server.createUser(name))
    await signIn(user)
    users.push(user)
  }
  const people = Array.from({ length: atOnce }, (_, index) => users[index % users.length]!)
  return { contestant: { ...server, rows: [tokenRow('Latchkey, JWT', 'jwt', machineClient)] }, people }
}

/** `rate`: of token requests; absent: as many as there can be. */
async function runRounds(
  lane: Lane,
  people: readonly UserClient[],
  stage: Stage,
  rate?: number,
): Promise<Round[]> {
  const { rounds: count, warmUp, seconds } = stage.options
  const pids = pidsOf(lane.contestant)
  const rounds: Round[] = []
  for (let round = 1; round <= count; round++) {
    console.log(`round ${round} of ${count}, without sign-ins and with`)
    const without = figuresOf(await runWindow(lane, stage, { warmUp, seconds, rate }))
    resume(pids)
    const crowd = startCrowd(people)
    await crowd.underway
    const [before, began] = [crowd.count(), performance.now()]
    const beside = figuresOf(await runWindow(lane, stage, { warmUp, seconds, rate }))
    const signInsPerSecond = ((crowd.count() - before) * 1000) / (performance.now() - began)
    resume(pids)
    rounds.push({ without, beside, signInsPerSecond })
    await crowd.end()
    pause(pids)
  }
  return rounds
}

function figuresOf(window: Measured): Figures {
  const { requests, errors, firstError, p50, p99 } = window
  if (errors > 0 || requests === 0) throw new Error(`token requests failed: ${firstError ?? 'no response'}`)
  return { rate: rateOf(window), p50, p99 }
}

/** Medians, and those of the ratios of each round. */
function rows(load: string, rounds: readonly Round[]): string[][] {
  const over = (pick: (round: Round) => number): number => median(rounds.map(pick))
  const figures = (pick: (round: Round) => Figures): string[] => [
    whole(over((round) => pick(round).rate)),
    times(over((round) => pick(round).p50)),
    times(over((round) => pick(round).p99)),
  ]
  const ratio = (what: keyof Figures): string =>
    factor(over(({ without, beside }) => beside[what] / without[what]))
  return [
    [`${load}, nobody signs in`, ...figures(({ without }) => without), ''],
    [
      `${load}, ${atOnce} sign in at once, again and again`,
      ...figures(({ beside }) => beside),
      over(({ signInsPerSecond }) => signInsPerSecond).toFixed(1),
    ],
    ['ratio', ratio('rate'), ratio('p50'), ratio('p99'), ''],
  ]
}
