/** Which workers take connections, by what they say of themselves. */
import { expect, test } from 'vitest'
import { createGathering, type Gathering } from '../../src/serving/gathering.ts'

const SECOND = 1000

/** Four that listen since 0. */
function four(): Gathering {
  const gathering = createGathering()
  for (const worker of [1, 2, 3, 4]) gathering.listens(worker, 0)
  return gathering
}

function takersOf(gathering: Gathering, now: number, ...loads: number[]): number[] {
  loads.forEach((load, at) => gathering.says(at + 1, load, now))
  return [...gathering.takers(now)]
}

test('one takes all that it can do', () => {
  const gathering = four()
  expect(takersOf(gathering, 0, 0, 0, 0, 0)).toEqual([1])
  expect(takersOf(gathering, SECOND, 0.89, 0.02, 0.02, 0.02)).toEqual([1])
})

test('as many help as the load needs, at once', () => {
  const gathering = four()
  expect(takersOf(gathering, 0, 0.95, 0.01, 0.01, 0.01)).toEqual([1, 2])
  expect(takersOf(gathering, 250, 0.6, 0.6, 0.01, 0.01)).toEqual([1, 2])
  expect(takersOf(gathering, 500, 1, 1, 0.01, 0.01)).toEqual([1, 2, 3])
  expect(takersOf(gathering, 750, 1, 1, 1, 0)).toEqual([1, 2, 3, 4])
  expect(takersOf(gathering, 1000, 1, 1, 1, 1)).toEqual([1, 2, 3, 4])
})

test('fewer, when it was quiet for a while and not for a moment', () => {
  const gathering = four()
  takersOf(gathering, 0, 1, 0, 0, 0)
  takersOf(gathering, 250, 1, 1, 0, 0)
  expect(takersOf(gathering, 1 * SECOND, 0.1, 0.1, 0.1, 0)).toEqual([1, 2, 3])
  expect(takersOf(gathering, 3 * SECOND, 0.7, 0.7, 0.7, 0)).toEqual([1, 2, 3])
  expect(takersOf(gathering, 4 * SECOND, 0.1, 0.1, 0.1, 0)).toEqual([1, 2, 3])
  expect(takersOf(gathering, 8 * SECOND, 0.1, 0.1, 0.1, 0)).toEqual([1, 2, 3])
  expect(takersOf(gathering, 9 * SECOND, 0.1, 0.1, 0.1, 0)).toEqual([1])
})

test('where one more or less would be between, it stays as it is', () => {
  const gathering = four()
  takersOf(gathering, 0, 0.95, 0, 0, 0)
  for (let now = 1; now < 30; now++)
    expect(takersOf(gathering, now * SECOND, 0.53, 0.53, 0, 0)).toEqual([1, 2])
})

/** One that does alone what two do with less, again and again: the seconds at which two become one. */
function secondsOfOne(alone: number, each: number, until: number): number[] {
  const gathering = four()
  const found: number[] = []
  let takers = [1]
  for (let second = 0; second < until; second++) {
    const before = takers.length
    takers = takersOf(gathering, second * SECOND, ...(before === 1 ? [alone, 0, 0, 0] : [each, each, 0, 0]))
    if (takers.length < before) found.push(second)
  }
  return found
}

test('what is soon too much after all is tried again later and later', () => {
  expect(secondsOfOne(0.95, 0.4, 240)).toEqual([6, 18, 40, 82, 164])
})

test('a load that grew soon after is another one, and says nothing of the one before', () => {
  const gathering = four()
  takersOf(gathering, 0, 1, 1, 0, 0)
  for (let second = 1; second < 7; second++) takersOf(gathering, second * SECOND, 0.2, 0.2, 0.2, 0)
  expect(takersOf(gathering, 7 * SECOND, 1, 0.4, 0.3, 0)).toEqual([1, 2])
  for (let second = 8; second < 13; second++)
    expect(takersOf(gathering, second * SECOND, 0.2, 0.2, 0, 0)).toEqual([1, 2])
  expect(takersOf(gathering, 13 * SECOND, 0.2, 0.2, 0, 0)).toEqual([1])
})

test('what is spread costs more, and is gathered where it fits', () => {
  expect(secondsOfOne(0.75, 0.4, 60)).toEqual([])
  const gathering = four()
  takersOf(gathering, 0, 1, 0, 0, 0)
  for (let second = 1; second < 6; second++) takersOf(gathering, second * SECOND, 0.44, 0.44, 0, 0)
  expect(takersOf(gathering, 6 * SECOND, 0.44, 0.44, 0, 0)).toEqual([1])
  for (let second = 7; second < 60; second++)
    expect(takersOf(gathering, second * SECOND, 0.75, 0, 0, 0)).toEqual([1])
})

test('what four do is gathered in one step, where one will be able to do it', () => {
  const spread = (each: number): number[] => {
    const gathering = four()
    takersOf(gathering, 0, 1, 1, 1, 1)
    for (let second = 1; second < 6; second++)
      expect(takersOf(gathering, second * SECOND, each, each, each, each)).toEqual([1, 2, 3, 4])
    return takersOf(gathering, 6 * SECOND, each, each, each, each)
  }
  expect(spread(0.32)).toEqual([1])
  expect(spread(0.5)).toEqual([1, 2])
  expect(spread(0.7)).toEqual([1, 2, 3])
  expect(spread(0.85)).toEqual([1, 2, 3, 4])
})

test('the place of one that is gone, or has not said a word for long, is taken by the next', () => {
  const gathering = four()
  expect(takersOf(gathering, 0, 0.3, 0, 0, 0)).toEqual([1])
  gathering.ends(1)
  expect([...gathering.takers(1)]).toEqual([2])
  gathering.says(1, 0.1, 2)
  expect([...gathering.takers(2)]).toEqual([2])
  for (const worker of [3, 4]) gathering.says(worker, 0, 2 * SECOND)
  for (const worker of [3, 4]) gathering.says(worker, 0, 4 * SECOND)
  expect([...gathering.takers(4 * SECOND)]).toEqual([2, 3])
})

test('a machine that stood still makes nobody silent', () => {
  const gathering = four()
  expect(takersOf(gathering, 0, 0.3, 0, 0, 0)).toEqual([1])
  gathering.says(2, 0, 60 * SECOND)
  expect([...gathering.takers(60 * SECOND)]).toEqual([1])
  for (const worker of [2, 3, 4]) gathering.says(worker, 0, 62 * SECOND)
  for (const worker of [2, 3, 4]) gathering.says(worker, 0, 64 * SECOND)
  expect([...gathering.takers(64 * SECOND)]).toEqual([1, 2])
})

test('nobody listens yet', () => {
  expect([...createGathering().takers(0)]).toEqual([])
})
