/** The JSON that Django's `dumpdata` writes: a list of records, each of a model, with fields. Others read the fields. */
import { readFile } from 'node:fs/promises'
import { ConfigError } from '../config.ts'
import { isObject, parseJson } from '../protocol/json.ts'

export interface DumpRecord {
  /** Its place in the file, from 1. */
  readonly at: number
  /** As in `auth.user`; empty for what is no record. */
  readonly model: string
  /** By which other records name it; absent under `--natural-primary`. */
  readonly pk: unknown
  readonly fields: Readonly<Record<string, unknown>>
}

/** Throws `ConfigError` with one sentence, which quotes nothing of the file: it holds secrets. */
export async function readDump(path: string): Promise<DumpRecord[]> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new ConfigError(`${path} cannot be read (${cause.code}).`)
  })
  const entries = parseJson(text.replace(/^\ufeff/, ''))
  if (!Array.isArray(entries))
    throw new ConfigError(`${path} is not a JSON list of records, as Django's dumpdata writes it.`)
  return entries.map(toRecord)
}

function toRecord(entry: unknown, index: number): DumpRecord {
  const { model, pk, fields } = isObject(entry) ? entry : {}
  const at = index + 1
  return typeof model === 'string' && isObject(fields)
    ? { at, model, pk, fields }
    : { at, model: '', pk, fields: {} }
}
