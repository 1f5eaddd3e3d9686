/** The threads that hash give way to the one that answers. */
import { readdir, readFile } from 'node:fs/promises'
import { getPriority } from 'node:os'
import { expect, test } from 'vitest'
import { spawnServer } from '../support/process.ts'

test.runIf(process.platform === 'linux')(
  'in a server, the pool has a lower priority than the rest',
  async () => {
    const { pid } = await spawnServer()
    const threads = await Promise.all(
      (await readdir(`/proc/${pid}/task`)).map(async (id) => ({
        name: (await readFile(`/proc/${pid}/task/${id}/comm`, 'utf8')).trim(),
        niceness: getPriority(Number(id)),
      })),
    )
    const pool = threads.filter(({ name }) => name === 'libuv-worker')
    expect(new Set(pool.map(({ niceness }) => niceness))).toEqual(new Set([10]))
    expect(getPriority(pid)).toBe(getPriority())
  },
)
