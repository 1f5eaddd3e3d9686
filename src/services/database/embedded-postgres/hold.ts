/**
 * A hold keeps PostgreSQL alive: an open write end of a named pipe in the socket directory. The kernel lets
 * go of it when a process ends, SIGKILL included, and the supervisor reads end-of-file when the last hold is
 * gone.
 */
import { closeSync, constants, existsSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { isRunning } from './postmaster.ts'

export interface Hold {
  release(): void
  /** After our release: does another process still hold on? */
  isShared(): boolean
  /** The supervisor has cleaned up behind PostgreSQL. */
  isOver(): boolean
  /** There is no supervisor any more, and it has not cleaned up. */
  isAbandoned(): boolean
}

export function pipePath(socketDir: string): string {
  return join(socketDir, 'hold')
}

/** Holds the supervisor's process id, for as long as a PostgreSQL that dies is to be started again. */
export function servingPath(socketDir: string): string {
  return join(socketDir, 'serving')
}

/** Undefined where no supervisor listens: a PostgreSQL that somebody started by hand is theirs to stop. */
export function holdOpen(socketDir: string): Hold | undefined {
  try {
    const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
    return holdWith(openSync(pipePath(socketDir), flags), socketDir)
  } catch {
    return undefined
  }
}

/** A hold by an end of the pipe that is already open. */
export function holdWith(descriptor: number, socketDir: string): Hold {
  let released = false
  return {
    release() {
      if (!released) closeSync(descriptor)
      released = true
    },
    isShared: () => hasWriter(pipePath(socketDir)),
    isOver: () => !existsSync(socketDir),
    isAbandoned: () => isAbandoned(socketDir),
  }
}

/** Reading a pipe without blocking: end-of-file says that nobody writes, EAGAIN that somebody could. */
function hasWriter(path: string): boolean {
  let descriptor
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    return readSync(descriptor, Buffer.alloc(1)) > 0
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EAGAIN'
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** While PostgreSQL is kept serving, the file names the process that sees to it. */
function isAbandoned(socketDir: string): boolean {
  try {
    return !isRunning(Number(readFileSync(servingPath(socketDir), 'utf8')))
  } catch {
    return false
  }
}
