/** What several files of a run use and one makes: by whichever worker comes first. */
import { mkdir, readFile, rename, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inject } from 'vitest'
import { until } from './until.ts'

/** What the first one leaves for the others. */
type Told<T> = { made: T } | { failed: string }

/** What `work` makes, as JSON has it, in a directory of the run's own. @throws Error that says why it could not be made */
export async function onceInRun<T>(name: string, work: (place: string) => Promise<T>): Promise<T> {
  const place = join(inject('runDirectory'), name)
  const report = `${place}.json`
  const isFirst = await mkdir(place).then(
    () => true,
    () => false,
  )
  if (isFirst) {
    const told: Told<T> = await work(place).then(
      (made) => ({ made }),
      (error: Error) => ({ failed: error.message }),
    )
    await writeFile(`${report}.new`, JSON.stringify(told))
    await rename(`${report}.new`, report)
  }
  const told = await until(async () => JSON.parse(await readFile(report, 'utf8')) as Told<T>, 390_000)
  if ('failed' in told) throw new Error(told.failed)
  return told.made
}

/** Of all workers, one does it at a time: what writes to the checkout, as `npm pack` does. */
export async function oneAtATime<T>(name: string, work: () => Promise<T>): Promise<T> {
  const lock = join(inject('runDirectory'), `${name}.lock`)
  await until(async () => mkdir(lock), 390_000)
  try {
    return await work()
  } finally {
    await rmdir(lock)
  }
}
