import { expect, test } from 'vitest'
import { createHashingQueue } from '../../../src/services/hashing/hashing-queue.ts'

/** Works that end when they are told to. */
function gatedWorks() {
  const open: (() => void)[] = []
  let running = 0
  let most = 0
  const work = async (): Promise<number> => {
    most = Math.max(most, ++running)
    await new Promise<void>((resolve) => open.push(resolve))
    return running--
  }
  return { work, most: () => most, started: () => open.length, releaseOne: () => open.shift()?.() }
}

test('a few run at a time, a few wait, and who comes too late is told when to come back', async () => {
  const queue = createHashingQueue(2, 3)
  const works = gatedWorks()
  const accepted = Array.from({ length: 5 }, () => queue.run(works.work))
  await expect(queue.run(works.work)).rejects.toMatchObject({
    code: 'temporarily_unavailable',
    status: 503,
    headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) as string },
  })
  expect(works.started()).toBe(2)
  const done = Promise.all(accepted)
  for (let ended = 0; ended < 5; ended++) {
    await expect.poll(works.started).toBeGreaterThan(0)
    works.releaseOne()
  }
  expect(await done).toHaveLength(5)
  expect(works.most()).toBe(2)
})

test('a place that became free is used again, also after a failure', async () => {
  const queue = createHashingQueue(1, 0)
  await expect(queue.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await expect(
    queue.run(() => {
      throw new Error('at once')
    }),
  ).rejects.toThrow('at once')
  expect(await queue.run(async () => 1)).toBe(1)
  expect(await queue.run(async () => 2)).toBe(2)
})

test('who waits is served in the order of coming', async () => {
  const queue = createHashingQueue(1, 10)
  const order: number[] = []
  await Promise.all([1, 2, 3, 4].map((one) => queue.run(async () => order.push(one))))
  expect(order).toEqual([1, 2, 3, 4])
})

test('a rush in one line costs the other a single turn, and fills no place there', async () => {
  const logins = createHashingQueue(1, 3)
  const clients = logins.beside()
  const order: string[] = []
  const works = gatedWorks()
  const rush = Array.from({ length: 4 }, async (_, at) =>
    logins.run(async () => order.push(`login ${at}`) && works.work()),
  )
  await expect(logins.run(works.work)).rejects.toMatchObject({ status: 503 })
  const client = clients.run(async () => order.push('client') && works.work())
  const all = Promise.all([...rush, client])
  for (let ended = 0; ended < 5; ended++) {
    await expect.poll(works.started).toBeGreaterThan(0)
    works.releaseOne()
  }
  await all
  expect(order.indexOf('client')).toBeLessThanOrEqual(2)
  expect(order.filter((one) => one !== 'client')).toEqual(['login 0', 'login 1', 'login 2', 'login 3'])
  expect(works.most()).toBe(1)
})

test('where the line is full, the last of the largest network makes place for who comes from another', async () => {
  let at = ['a', 'a1']
  const queue = createHashingQueue(1, 4, () => at)
  const works = gatedWorks()
  const order: string[] = []
  const enter = async (...place: [string, string]): Promise<string> => {
    at = place
    const name = place.join(' ')
    return queue
      .run(async () => order.push(name) && works.work())
      .then(
        () => name,
        ({ status }: { status: number }) => `${name} ${status}`,
      )
  }
  // The first runs; of the four behind it, those who came last leave for two of b, and then there are as many of each.
  const all = [
    enter('a', 'a1'), enter('a', 'a1'), enter('a', 'a2'), enter('a', 'a1'), enter('a', 'a1'),
    enter('b', 'b1'), enter('b', 'b1'), enter('b', 'b1'), enter('c', 'c1'),
  ] // prettier-ignore
  for (let ended = 0; ended < 5; ended++) {
    await expect.poll(works.started).toBeGreaterThan(0)
    works.releaseOne()
  }
  const [, ...behind] = await Promise.all(all)
  expect(behind).toEqual(['a a1', 'a a2', 'a a1 503', 'a a1 503', 'b b1', 'b b1 503', 'b b1 503', 'c c1'])
  expect(order).toEqual(['a a1', 'a a1', 'b b1', 'c c1', 'a a2'])
  expect(queue.load()).toEqual({ running: 0, waiting: 0 })
})
