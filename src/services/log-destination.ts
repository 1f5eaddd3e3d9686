/**
 * Where the log goes: stdout, whoever reads it, and however slowly. The server never waits for them: lines for which
 * there is no room are dropped, counted, and named in one line when there is room again.
 */
import { constants, fstatSync, openSync } from 'node:fs'
import sonicBoom from 'sonic-boom'

export interface LogDestination {
  write(line: string): void
  /** Writes what is left, for a second at most: a reader that stands still does not keep a process from ending. */
  flush(): void
}

/** Bytes of lines that may wait: minutes of a log, and little of a process. */
const ROOM = 1 << 20
/** Milliseconds. */
const [TRY_AGAIN, LAST_WORDS] = [1000, 1000]

/** To `fd`, which must not block: Node sees to that for its own stdout. */
export function openLogDestination(fd: number): LogDestination {
  let dropped = 0
  let gone = false
  let lost = false
  let end = Infinity
  let timer: NodeJS.Timeout | undefined
  const stream = new sonicBoom.SonicBoom({
    fd,
    sync: false,
    maxLength: ROOM,
    retryEAGAIN: () => performance.now() < end,
  })

  stream.on('drop', () => (lost = true))
  stream.on('error', ({ code }: NodeJS.ErrnoException) => {
    // Nobody is there, and nobody will be; a full disk is tried again with the next line.
    gone ||= code === 'EPIPE'
  })

  /** Whether there was room for it. */
  function put(line: string): boolean {
    lost = false
    stream.write(line)
    return !lost
  }

  function tell(): void {
    const time = new Date().toISOString()
    const line = { level: 'warn', time, dropped, msg: 'log lines were dropped: nobody took them in time' }
    if (!put(`${JSON.stringify(line)}\n`)) return
    dropped = 0
    clearInterval(timer)
    timer = undefined
  }

  return {
    write(line) {
      if (gone || put(line)) return
      dropped++
      timer ??= setInterval(tell, TRY_AGAIN).unref()
    },
    flush() {
      end = performance.now() + LAST_WORDS
      try {
        if (!gone) stream.flushSync()
      } catch {
        // Who does not read does not miss it.
      }
    },
  }
}

let own: LogDestination | undefined

/** That of this process. */
export function stdoutLog(): LogDestination {
  if (own !== undefined) return own
  // To ask Node for its number opens it, so that it does not block: until somebody who shares it ends or begins.
  own = openLogDestination(ownPipe() ?? process.stdout.fd)
  process.once('exit', () => own?.flush())
  return own
}

/** Of a pipe, an end that nobody else changes, where the system gives one. */
function ownPipe(): number | undefined {
  try {
    if (!fstatSync(1).isFIFO()) return undefined
    return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
}
