/** One process with an open token, as its server sees it: questions, their answers, and its end. */
import { fork } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withoutSecrets } from '../../src/settings/secrets.ts'
import type { Opening, Question, Reply } from './process/messages.ts'

export interface TokenProcess {
  /** Throws `TokenFailure`. When the signal gives up, so does the process, with all that it was asked for. */
  ask(question: Asked, signal: AbortSignal): Promise<unknown>
  /** Ends it at once. */
  end(): void
  readonly ended: boolean
}

/** A question before it has its number. */
type Asked = Question extends infer Q ? (Q extends { readonly id: number } ? Omit<Q, 'id'> : never) : never

type ProblemKind = Extract<Reply, { problem: unknown }>['problem']['kind']

export class TokenFailure extends Error {
  /** `ended`: the process is gone, and whether it did what it was asked is not known. */
  readonly kind: ProblemKind | 'ended'

  constructor(kind: TokenFailure['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

const PROGRAM = fileURLToPath(new URL(`./process/main${extname(import.meta.filename)}`, import.meta.url))
/** Threads beside those that sign. */
const MORE_THREADS = 2

/** Begins one, and opens the token. Throws `TokenFailure`. */
export async function startTokenProcess(
  options: Opening,
  atOnce: number,
  signal: AbortSignal,
): Promise<TokenProcess> {
  const started = start(atOnce)
  try {
    await started.ask({ of: 'open', options }, signal)
    return started
  } catch (error) {
    started.end()
    throw error
  }
}

function start(atOnce: number): TokenProcess {
  // Modules read what they need from the environment, and may write it into logs.
  const env = withoutSecrets(process.env)
  const child = fork(PROGRAM, {
    env: { ...env, UV_THREADPOOL_SIZE: String(atOnce + MORE_THREADS) },
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const asked = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let count = 0
  let ended = false

  function close(why: string): void {
    ended = true
    for (const { reject } of asked.values()) reject(new TokenFailure('ended', why))
    asked.clear()
  }
  const end = (): void => {
    close('the process of the token was ended, since it did not answer')
    child.kill('SIGKILL')
  }

  child.on('message', (reply: Reply) => {
    const waiting = asked.get(reply.id)
    asked.delete(reply.id)
    if ('value' in reply) waiting?.resolve(reply.value)
    else waiting?.reject(new TokenFailure(reply.problem.kind, reply.problem.message))
  })
  child.on('exit', (status, by) =>
    close(`the process of the token ended by itself (${by ?? `status ${status}`})`),
  )
  child.on('error', (error) => close(`the process of the token cannot be started: ${error.message}`))

  return {
    get ended() {
      return ended
    },
    end,
    async ask(question, signal) {
      if (ended) throw new TokenFailure('ended', 'the process of the token has ended')
      signal.throwIfAborted()
      const id = count++
      signal.addEventListener('abort', end, { once: true })
      try {
        return await new Promise((resolve, reject) => {
          asked.set(id, { resolve, reject })
          child.send({ ...question, id }, (error) => {
            if (error !== null) close(error.message)
          })
        })
      } finally {
        signal.removeEventListener('abort', end)
      }
    },
  }
}
