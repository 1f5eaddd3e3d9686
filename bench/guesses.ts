// Owns the question what guessing passwords does to others and to an account: whether a rush of wrong ones from one address keeps
// out who is right elsewhere, and how many guesses at one account are looked at when each has an address of its own.

import { startLatchkey, type Started } from './contestants/latchkey-server.ts'
import type { Stage } from './lane.ts'
import { provenance } from './machine.ts'
import { table, times } from './markdown.ts'
import type { Part } from './parts.ts'
import { otherCore, pinFamily } from './pinning.ts'
import { median } from './result.ts'
import type { User } from './user-client.ts'
import { createUserAgent, type Page, type UserAgent } from '../tests/support/user-agent.ts'

const RUSH = 110
const PEOPLE = 39
/** Of guesses at one account. */
const SECONDS = 30
const LANES = 8

interface AtForm {
  agent: UserAgent
  page: Page
}

interface Rush {
  signedIn: number
  sentAway: number
  /** Milliseconds. */
  slowest: number
}

export async function measureGuesses(stage: Stage): Promise<Part[]> {
  const { cluster, options } = stage
  // This process plays the people: it stays off the server's core.
  pinFamily(process.pid, otherCore)
  const ground = { nodeArgs: [], createDatabase: cluster.createDatabase }
  const server = await startLatchkey(ground, 'guesses', { TRUSTED_PROXIES: '127.0.0.1' })
  const user = await server.createUser('ada')
  const rushes: Rush[] = []
  for (let round = 1; round <= options.rounds; round++) {
    console.log(`round ${round} of ${options.rounds}`)
    rushes.push(await rush(server, user, round))
  }
  console.log(`${SECONDS} seconds of guesses at one account`)
  const guesses = await guessFor(server, user)
  const of = (pick: (one: Rush) => number): number => median(rushes.map(pick))
  const text = [
    provenance(stage, `${options.rounds} rounds`),
    table(
      [`${RUSH} wrong passwords at once from one address, ${PEOPLE} right ones from others`, 'median', 'worst'],
      [
        ['signed in', String(of((one) => one.signedIn)), String(Math.min(...rushes.map((one) => one.signedIn)))],
        ['sent away with 503', String(of((one) => one.sentAway)), String(Math.max(...rushes.map((one) => one.sentAway)))],
        ['the slowest who signed in', times(of((one) => one.slowest)), times(Math.max(...rushes.map((one) => one.slowest)))],
      ],
    ),
    table(
      [`wrong passwords of one account in ${SECONDS} s, each from an address of its own`, 'answers'],
      [['looked at', String(guesses.looked)], ['refused with 429', String(guesses.refused)]],
    ),
  ].join('\n\n')
  return [{ name: 'guesses', text }]
} // prettier-ignore

async function openFrom({ port }: Started, address: string): Promise<AtForm> {
  const url = `http://127.0.0.1:${port}`
  const agent = createUserAgent(url, { 'x-forwarded-for': address })
  return { agent, page: await agent.get(`${url}/sign-in`) }
}

const signIn = async ({ agent, page }: AtForm, { username, password }: User): Promise<number> =>
  agent.submit(page, 'login', { username, password }).then(({ status }) => status)

async function rush(server: Started, user: User, round: number): Promise<Rush> {
  const attacker = await openFrom(server, `192.0.2.${round}`)
  const people: AtForm[] = []
  for (let at = 0; at < PEOPLE; at++) people.push(await openFrom(server, `10.${round}.${at}.1`))
  const wrong = Array.from({ length: RUSH }, async (_, at) =>
    signIn(attacker, { username: `name-${at}`, password: 'a guess' }),
  )
  // They come behind the rush: as soon as it has been answered for the first time.
  await Promise.race(wrong)
  let slowest = 0
  const right = people.map(async (one) => {
    const began = performance.now()
    const status = await signIn(one, user)
    if (status === 200) slowest = Math.max(slowest, performance.now() - began)
    return status
  })
  const statuses = await Promise.all(right)
  await Promise.all(wrong)
  const count = (status: number): number => statuses.filter((one) => one === status).length
  return { signedIn: count(200), sentAway: count(503), slowest }
}

async function guessFor(server: Started, user: User): Promise<{ looked: number; refused: number }> {
  const answers = { looked: 0, refused: 0 }
  const end = performance.now() + SECONDS * 1000
  let addresses = 0
  const lane = async (): Promise<void> => {
    while (performance.now() < end) {
      addresses++
      const form = await openFrom(server, `172.16.${addresses >> 8}.${addresses & 255}`)
      const status = await signIn(form, { ...user, password: 'a guess' })
      if (status === 403) answers.looked++
      else if (status === 429) answers.refused++
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return answers
}
