/**
 * Hashing a password takes a core for as long as a hundred tokens do. Where they share one, the thread that answers is to
 * go first: the threads of Node's pool, which hash, are told to give way to it (docs/adr/0021).
 */
import { readdir, readFile } from 'node:fs/promises'
import { setPriority } from 'node:os'

const THREADS = '/proc/self/task'
/** What Node calls the threads of its pool. */
const POOL = 'libuv-worker'
/** A tenth of a core beside a thread that wants all of it; all of a core that nobody else wants. */
const NICENESS = 10

/** On Linux, where each thread has a niceness; elsewhere, and where it is forbidden, nothing is changed. */
export async function putRequestsFirst(): Promise<void> {
  try {
    // Reading starts the pool, if nothing has.
    for (const id of await readdir(THREADS)) {
      const name = await readFile(`${THREADS}/${id}/comm`, 'utf8')
      if (name.trim() === POOL) setPriority(Number(id), NICENESS)
    }
  } catch {
    // Without it all threads are alike.
  }
}
