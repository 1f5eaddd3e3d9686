/**
 * Whether an account exists is not to be learned where a password was forgotten: every address gets one answer, for one and the same work.
 * Whose it is, is looked up behind the request.
 */
import { beforeAll, expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { startServer } from '../support/server.ts'
import { SEED } from '../support/sign-in.ts'
import { createUserAgent, type Page } from '../support/user-agent.ts'

const server = await startServer({}, { seed: SEED })
const kernel = kernelOf(server.server)
/** Of one length each: known, of nobody, of a disabled one, not verified. */
const ADDRESSES = ['alice@example.com', 'alicf@example.com', 'alicd@example.com', 'alicu@example.com']
const asked: string[] = []

beforeAll(async () => {
  await kernel.users.create({ username: 'd', email: 'alicd@example.com', email_verified: true })
  await kernel.users.disable('d')
  await kernel.users.create({ username: 'u', email: 'alicu@example.com' })
  // What is done behind requests would be counted with them.
  await kernel.courier.stop()
  const { database } = kernel
  const { query, transaction } = database
  const counted = (run: typeof query): typeof query => async (statement, values) => {
    asked.push(statement.name)
    return run(statement, values)
  }
  Object.assign(database, {
    query: counted(query),
    transaction: async (work: (run: typeof query) => Promise<unknown>) =>
      transaction(async (run) => work(counted(run))),
  })
}) // prettier-ignore

const agent = createUserAgent(server.url)

async function ask(email: string): Promise<{ page: Page; statements: string[] }> {
  const form = await agent.get(`${server.url}/forgot-password`)
  asked.length = 0
  const page = await agent.submit(form, 'forgot-password', { email })
  // The feed of changes is read by the clock.
  return { page, statements: asked.filter((name) => !name.startsWith('change')) }
}

test('the answer is the same, and so are the statements that it takes', async () => {
  await ask('first@example.com')
  const answers = []
  for (const address of ADDRESSES) answers.push(await ask(address))
  const [first] = answers
  expect(first!.page.status).toBe(200)
  expect(first!.statements).toContain('outbox-enqueue')
  expect(first!.statements.join(' ')).not.toMatch(/user|artifact/)
  for (const { page, statements } of answers) {
    expect(statements).toEqual(first!.statements)
    expect(page.body).toBe(first!.page.body)
    const headers = ({ headers: all }: Page) => [...all].filter(([name]) => name !== 'date')
    expect(headers(page)).toEqual(headers(first!.page))
  }
})

test('nothing that is stored, logged or told names the address', async () => {
  const rows = JSON.stringify([
    await server.database.query('select * from outbox'),
    await server.database.query('select * from throttles'),
    await server.database.query(`select * from audit_events where type <> 'user.registered'`),
  ])
  for (const address of ADDRESSES.slice(1)) expect(rows + server.output()).not.toContain(address)
})
