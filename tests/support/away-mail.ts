/** A mail server that is away, so that what is to be mailed waits in the outbox. */
import { expect, vi } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { TestServer } from './server.ts'
import { until } from './until.ts'

/** `cause` has something of the kind mailed; `ending` is done while that waits. Returns when nothing of the kind waits any more, though no mail can be sent. */
export async function endedWhileItWaits(
  { server, database }: TestServer,
  kind: string,
  { cause, ending }: Readonly<Record<'cause' | 'ending', () => Promise<unknown>>>,
): Promise<void> {
  const spy = vi.spyOn(server.letters, 'send').mockRejectedValue(new Error('the mail server is away'))
  const waiting = async (more = '') =>
    database.query(`select from outbox where kind = '${kind}' and given_up_at is null ${more}`)
  try {
    await cause()
    await until(async () => expect(await waiting('and last_error is not null')).toHaveLength(1))
    await ending()
    await database.query(`update outbox set due_at = now() where kind = '${kind}'`)
    await kernelOf(server).outbox.announce()
    await until(async () => expect(await waiting()).toEqual([]))
  } finally {
    spy.mockRestore()
  }
}
