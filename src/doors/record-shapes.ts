/** What records of plugins and of users are opened with, and what they may be called. */
import { ConfigError } from '../config.ts'
import type { PluginRecordOptions } from './plugin-records.ts'
import { assertShape, BOOLEAN, FUNCTION, maybe, upTo, type Shape } from './shapes.ts'
import type { RecordOptions } from './user-records.ts'

const MOST_RECORDS = 100_000
const MOST_OF_USER = 100
const RECORDS: Shape<PluginRecordOptions> = {
  sealed: maybe(BOOLEAN),
  key: maybe(FUNCTION),
  most: maybe(upTo(MOST_RECORDS)),
}
const USER_RECORDS: Shape<RecordOptions> = {
  sealed: maybe(BOOLEAN),
  unique: maybe(BOOLEAN),
  signsIn: maybe({
    is: (given) => BOOLEAN.is(given) || FUNCTION.is(given),
    words: 'true, false or a function',
  }),
  factor: maybe({ is: (given) => BOOLEAN.is(given) || given === 'spare', words: "true, false or 'spare'" }),
  most: maybe(upTo(MOST_OF_USER)),
  describe: maybe(FUNCTION),
}
const RECORD_KIND = /^[a-z][a-z0-9-]{0,63}$/

/** Of a user or of nobody: a name that can stand anywhere. */
export function assertRecordKind(kind: string): void {
  if (!RECORD_KIND.test(kind))
    throw new ConfigError(`The records ${kind} need a name of small letters, digits and hyphens.`)
}

export function assertRecordOptions(kind: string, options: unknown): void {
  assertShape(`records ${kind}`, RECORDS, options)
}

export function assertUserRecordOptions(kind: string, options: unknown): void {
  assertShape(`records ${kind}`, USER_RECORDS, options)
}
