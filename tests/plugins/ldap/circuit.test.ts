/** What keeps people waiting rests, and what refuses at once is asked each time. @needs latchkey-ldap */
import { expect, test } from 'vitest'
import { createCircuit } from '../../../plugins/ldap/circuit.ts'
import { DirectoryFailure } from '../../../plugins/ldap/connection.ts'

const down = () => new DirectoryFailure('unreachable', 'gone')

/** A circuit with a clock of its own, whose work takes so many milliseconds. */
function createRound() {
  let time = 0
  let asked = 0
  const circuit = createCircuit(() => time)
  const ask = async (took: number, error?: Error) =>
    circuit.run(async () => {
      asked++
      time += took
      if (error !== undefined) throw error
      return 'answer'
    })
  return { ask, circuit, later: (ms: number) => (time += ms), asked: () => asked }
}

test('after three that took their time it rests, one asks again, and an answer opens it to all', async () => {
  const { ask, later, asked } = createRound()
  for (let times = 0; times < 3; times++) await expect(ask(5000, down())).rejects.toThrow('gone')
  await expect(ask(0)).rejects.toThrow('is not asked again yet')
  expect(asked()).toBe(3)
  later(15_000)
  await expect(ask(5000, down())).rejects.toThrow('gone')
  await expect(ask(0)).rejects.toThrow('is not asked again yet')
  later(15_000)
  expect(await ask(10)).toBe('answer')
  expect(await ask(10)).toBe('answer')
})

test('one alone asks in the place of all', async () => {
  const { ask, circuit, later } = createRound()
  for (let times = 0; times < 3; times++) await expect(ask(5000, down())).rejects.toThrow('gone')
  later(15_000)
  const { promise, resolve } = Promise.withResolvers<string>()
  const first = circuit.run(async () => promise)
  await expect(ask(0)).rejects.toThrow('is not asked again yet')
  resolve('back')
  expect(await first).toBe('back')
  expect(await ask(0)).toBe('answer')
})

test('what fails at once is asked each time', async () => {
  const { ask, asked } = createRound()
  for (let times = 0; times < 9; times++) await expect(ask(1, down())).rejects.toThrow('gone')
  expect(asked()).toBe(9)
})
