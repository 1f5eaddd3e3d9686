// Owns the question whether people who sign in, whose passwords are hashed slowly, starve the token endpoint: its
// rate and times without them and with twenty of them at once, in turn, in one run.

import { tokenRow } from './contestants/latchkey.ts'
import { startLatchkey, userClient } from './contestants/latchkey-server.ts'
import type { Contestant } from './contestant.ts'
import { newLane, runWindow, supply, type Stage } from './lane.ts'
import type { Measured } from './load-protocol.ts'
import { otherCore, pause, pinFamily, resume } from './pinning.ts'
import { median } from './result.ts'
import { passPages, signIn, type UserClient } from './user-client.ts'

const atOnce = 20

export interface SignInFigures {
  atOnce: number
  without: Figures
  beside: Figures & { signInsPerSecond: number }
  /** Medians of the ratios of each round, with sign-ins to without. */
  ratio: Figures
}

export interface Figures {
  rate: number
  p50: number
  p99: number
}

export async function measureSignIns(stage: Stage): Promise<SignInFigures> {
  console.log(`starting latchkey, for ${atOnce} sign-ins at once`)
  // This process plays the people: it stays off the server's core.
  pinFamily(process.pid, otherCore)
  const { contestant, people } = await prepare(stage)
  const lane = newLane(contestant, contestant.rows[0]!)
  await supply(lane, 1, stage)

  const rounds: { without: Figures; beside: Figures; signInsPerSecond: number }[] = []
  await runWindow(lane, stage, stage.options.seconds)
  for (let round = 1; round <= stage.options.rounds; round++) {
    console.log(`round ${round} of ${stage.options.rounds}, without sign-ins and with`)
    const without = figuresOf(await runWindow(lane, stage, stage.options.warmUp))
    resume(contestant.child)
    const crowd = startCrowd(people)
    await crowd.underway
    const [before, began] = [crowd.count(), performance.now()]
    const beside = figuresOf(await runWindow(lane, stage, stage.options.warmUp))
    const signInsPerSecond = ((crowd.count() - before) * 1000) / (performance.now() - began)
    resume(contestant.child)
    rounds.push({ without, beside, signInsPerSecond })
    await crowd.end()
    pause(contestant.child)
  }

  const over = (pick: (round: (typeof rounds)[number]) => Figures): Figures => ({
    rate: median(rounds.map((round) => pick(round).rate)),
    p50: median(rounds.map((round) => pick(round).p50)),
    p99: median(rounds.map((round) => pick(round).p99)),
  })
  const signInsPerSecond = median(rounds.map((round) => round.signInsPerSecond))
  return {
    atOnce,
    without: over(({ without }) => without),
    beside: { ...over(({ beside }) => beside), signInsPerSecond },
    ratio: over(({ without, beside }) => ({
      rate: beside.rate / without.rate,
      p50: beside.p50 / without.p50,
      p99: beside.p99 / without.p99,
    })),
  }
}

/** Four users, each of whom five people are: success after success of one account is never throttled. */
async function prepare({ cluster }: Stage): Promise<{ contestant: Contestant; people: UserClient[] }> {
  const ground = { nodeArgs: [], createDatabase: cluster.createDatabase }
  const server = await startLatchkey(ground, 'sign_ins', {})
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

interface Crowd {
  /** Somebody has signed in, and everybody else is in line. */
  underway: Promise<void>
  /** How many sign-ins there were. */
  count: () => number
  end: () => Promise<void>
}

/** Each signs in with a fresh browser, again and again. */
function startCrowd(people: UserClient[]): Crowd {
  let signedIn = 0
  const closing = new AbortController()
  const { promise: underway, resolve, reject } = Promise.withResolvers<void>()
  const busy = Promise.all(
    people.map(async (person) => {
      while (!closing.signal.aborted) {
        await passPages(person)
        signedIn++
        resolve()
      }
    }),
  )
  // Later than the first sign-in, an error is reported when the crowd ends.
  busy.catch(reject)
  return {
    underway,
    count: () => signedIn,
    end: async () => {
      closing.abort()
      await busy
    },
  }
}

function figuresOf({ requests, errors, firstError, elapsed, p50, p99 }: Measured): Figures {
  if (errors > 0 || requests === 0) throw new Error(`token requests failed: ${firstError ?? 'no response'}`)
  return { rate: (requests * 1_000_000) / elapsed, p50, p99 }
}
