/** Answers that are ready in one turn of the event loop leave one after the other, at its end or when they are enough. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { endOfTurn } from '../../plugins/turn.ts'

/** What `count` answers and the turn itself end in: the order in which it came. */
async function leave(count: number): Promise<string[]> {
  const order: string[] = []
  const answer = async (index: number): Promise<void> => {
    order.push(`${index} ready`)
    await endOfTurn()
    order.push(`${index} leaves`)
  }
  const turn = nextTurn().then(() => order.push('next turn'))
  for (let index = 0; index < count; index++) {
    void answer(index)
    // Another request of the same turn.
    await Promise.resolve()
  }
  order.push('all came')
  await turn
  await nextTurn()
  return order
}

test('a few wait for each other, and no longer than the turn lasts', async () => {
  expect(await leave(2)).toEqual(['0 ready', '1 ready', 'all came', 'next turn', '0 leaves', '1 leaves'])
})

test('one leaves in its turn', async () => {
  expect(await leave(1)).toEqual(['0 ready', 'all came', 'next turn', '0 leaves'])
})

test('of many, the first do not wait for the last', async () => {
  const order = await leave(20)
  const leaving = order.filter((what) => what.endsWith('leaves'))
  expect(leaving).toEqual(Array.from({ length: 20 }, (_, index) => `${index} leaves`))
  expect(order.indexOf('15 leaves')).toBeLessThan(order.indexOf('all came'))
  expect(order.indexOf('16 leaves')).toBeGreaterThan(order.indexOf('all came'))
})
