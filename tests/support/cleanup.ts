/**
 * What a test file leaves behind is cleared away at its end, also when a test failed before it could do so
 * itself.
 */
import { mkdtemp, chmod, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Task = () => Promise<unknown>
const tasks = new Set<Task>()

/**
 * Registers a task for the end of the running test file. The returned function does it now, once, instead.
 */
export function atEndOfFile(task: Task): () => Promise<void> {
  const once = async () => {
    if (tasks.delete(once)) await task()
  }
  tasks.add(once)
  return once
}

/** Runs what is registered, the newest first; every task runs, and the first failure is thrown at the end. */
export async function clearAway(): Promise<void> {
  const failures: unknown[] = []
  for (const task of [...tasks].toReversed()) await task().catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

/**
 * A directory that is gone at the end of the file; everybody may enter it, since PostgreSQL of a root run is
 * not root.
 */
export async function temporaryDirectory(mode = 0o755): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'latchkey-test-'))
  await chmod(directory, mode)
  // A PostgreSQL whose server was killed is still writing its last lines.
  const patiently = { recursive: true, force: true, maxRetries: 50, retryDelay: 100 }
  atEndOfFile(() => rm(directory, patiently))
  return directory
}
