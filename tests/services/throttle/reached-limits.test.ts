/** Whose account it is, as a plugin answers it: also where it fails, or says what it may not. */
import { expect, test } from 'vitest'
import { createTellReached } from '../../../src/services/throttle/reached-limits.ts'
import type { NewEvent } from '../../../src/events.ts'

const HASHED = { details: { kind: 'voucher', limit: 'account', account: 'hash of audited voucher\0a' } }

async function toldOf(ownerOf: (account: string) => unknown): Promise<NewEvent[]> {
  const told: NewEvent[] = []
  const nobody = async () => null
  const tell = createTellReached({
    audit: { observe: (event: NewEvent) => void told.push(event) },
    box: { hash: (value: string) => `hash of ${value}` },
    users: { find: nobody, findByEmail: nobody },
    directory: { findClient: nobody },
  } as never)
  tell({ kind: 'voucher', limit: 'account', account: 'a', ownerOf: ownerOf as never })
  await expect.poll(() => told).toHaveLength(1)
  return told
}

test.each([
  ['at once', (user: string) => ({ user })],
  ['later', async (user: string) => ({ user })],
  ['with more than that', (user: string) => ({ user, type: 'user.deleted', details: {} })],
])('it is told, answered %s', async (_how, ownerOf) => {
  const details = { kind: 'voucher', limit: 'account' }
  expect(await toldOf(ownerOf)).toEqual([{ type: 'limit.reached', user: 'a', details }])
})

test.each([
  ['throws', () => { throw new Error('broken') }],
  ['rejects', async () => Promise.reject(new Error('broken'))],
  ['says nothing', () => undefined],
  ['says null', () => null],
  ['knows nobody', () => ({})],
])('what %s is told by a hash, and breaks nothing', async (_how, ownerOf) => {
  expect(await toldOf(ownerOf)).toEqual([{ type: 'limit.reached', ...HASHED }])
}) // prettier-ignore
