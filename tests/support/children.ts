/** The processes that a process has started, on Linux: from /proc. */
import { readFile, readdir } from 'node:fs/promises'

export async function childrenOf(parent: number): Promise<number[]> {
  const found: number[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    if (Number(/\) \S (\d+)/.exec(stat)?.[1]) === parent) found.push(Number(pid))
  }
  return found
}
