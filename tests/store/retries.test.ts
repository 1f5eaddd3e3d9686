import { describe, expect, test } from 'vitest'
import { retried } from '../../src/store/retries.ts'

/** A clock that goes on when somebody waits, and a transaction that takes 10 ms of it and is refused. */
function setClock() {
  const clock = { at: 0, tries: 0, pauses: [] as number[] }
  const refuse = async (code = '40001'): Promise<never> => {
    clock.tries++
    clock.at += 10
    throw Object.assign(new Error('refused'), { code })
  }
  const times = {
    now: () => clock.at,
    pause: async (milliseconds: number) => {
      clock.pauses.push(milliseconds)
      clock.at += milliseconds
    },
  }
  return { clock, refuse, times }
}

describe('what PostgreSQL refuses to serialize', () => {
  test.for(['40001', '40P01'])('is run until it succeeds, after twenty refusals too: %s', async (code) => {
    const { clock, refuse, times } = setClock()
    const run = async () => (clock.tries < 20 ? refuse(code) : 'done')
    await expect(retried(run, times)).resolves.toBe('done')
    expect(clock.tries).toBe(20)
  })

  test('is given up after five seconds, with the last refusal, and is tried at least fifteen times until then', async () => {
    const { clock, refuse, times } = setClock()
    await expect(retried(refuse, times)).rejects.toMatchObject({ code: '40001' })
    expect(clock.at).toBeGreaterThanOrEqual(5000)
    expect(clock.at).toBeLessThan(5500)
    expect(clock.tries).toBeGreaterThan(15)
    expect(Math.max(...clock.pauses)).toBeLessThan(320)
  })

  test('is not run again when it failed by anything else', async () => {
    const { clock, refuse, times } = setClock()
    await expect(retried(async () => refuse('23505'), times)).rejects.toMatchObject({ code: '23505' })
    expect(clock.tries).toBe(1)
  })
})
