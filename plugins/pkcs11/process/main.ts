/**
 * The process that has a token: it loads the module, and does what its server asks for. It ends with its server, and by nothing else
 * that comes to all processes of a terminal. A module that hangs or crashes is this process's end, and the server begins another.
 */
import { loadCryptoki } from './cryptoki.ts'
import { CryptokiError } from './returned.ts'
import type { Opening, Question, Reply } from './messages.ts'
import { openToken, TokenProblem, type Token } from './token.ts'

let token: Token | undefined

async function open({ modulePath, ...options }: Opening): Promise<void> {
  const koffi = await import('koffi').catch((cause: unknown) => {
    throw new TokenProblem('config', 'PKCS #11 needs the package koffi: run npm install koffi@3.3.4', { cause })
  })
  token = openToken(load(koffi, modulePath), options)
} // prettier-ignore

function load(...[koffi, modulePath]: Parameters<typeof loadCryptoki>): ReturnType<typeof loadCryptoki> {
  try {
    return loadCryptoki(koffi, modulePath)
  } catch (error) {
    // It is there, and its hardware may come back.
    if (error instanceof CryptokiError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new TokenProblem('config', `the module ${modulePath} cannot be used: ${why}`, { cause: error })
  }
}

async function answer(question: Question): Promise<unknown> {
  if (question.of === 'open') return open(question.options)
  if (token === undefined) throw new Error('the token is not open')
  switch (question.of) {
    case 'algorithms':
      return token.algorithms()
    case 'list':
      return token.list()
    case 'generate':
      return token.generate(question.algorithm)
    case 'withdraw':
      return token.withdraw(question.reference)
    case 'sign':
      return token.sign(question.reference, question.algorithm, question.input)
    default:
      throw new Error('this is not asked of a token')
  }
}

function tell(reply: Reply): void {
  process.send?.(reply, undefined, undefined, () => {})
}

process.on('message', (question: Question) => {
  const { id } = question
  answer(question).then(
    (value) => tell({ id, value }),
    (error: unknown) => {
      const kind =
        error instanceof TokenProblem ? error.kind : error instanceof CryptokiError ? 'broken' : 'failed'
      tell({ id, problem: { kind, message: error instanceof Error ? error.message : String(error) } })
    },
  )
})
// Not by its handlers of an exit: a module that hangs has some, too.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
