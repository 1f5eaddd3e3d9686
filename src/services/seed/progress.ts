/** Says on the log how far a long SEED_FILE has come; nothing of one that is applied at once. */
import type { FastifyBaseLogger } from 'fastify'
import type { Source } from './seed-file.ts'

export interface Progress {
  /** A section begins, of which so many entries are new or changed. */
  begin(section: string, of: number): void
  /** So many more are applied. */
  done(entries: number): void
  /** A password or secret is hashed, which may be most of the work. */
  hashed(): void
  /** The whole file is applied. */
  end(): void
}

/** Milliseconds between two lines. */
const EACH = 2000

/** `limit`: milliseconds after which the app that we are in gives up a start; 0 for never. */
export function createProgress(source: Source, log: FastifyBaseLogger, limit: number): Progress {
  const started = performance.now()
  let said = started
  let [section, of, applied, hashes, all] = ['', 0, 0, 0, 0]
  let hasWarned = false

  function tell(): void {
    const now = performance.now()
    if (now - said < EACH) return
    said = now
    log.info({ section, applied, of, hashed: hashes }, `${source}: ${applied} of ${of} ${section} applied`)
    if (limit === 0 || hasWarned || now - started < limit / 4) return
    hasWarned = true
    log.warn(
      { pluginTimeout: limit },
      `${source} takes long, and the app ends a start after ${limit / 1000} s: set its pluginTimeout to 0; what is applied stays`,
    )
  }

  return {
    begin(name, entries) {
      ;[section, of, applied, hashes] = [name, entries, 0, 0]
    },
    done(entries) {
      applied += entries
      all += entries
      tell()
    },
    hashed() {
      hashes++
      tell()
    },
    end() {
      const seconds = Math.round((performance.now() - started) / 100) / 10
      if (all > 0)
        log.info({ entries: all, seconds }, `${source} is applied: what was new in it or had changed`)
    },
  }
}
