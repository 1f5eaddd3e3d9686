/** SEED_FILE: whether it can be read, and what a start would refuse of its entries. */
import { readFile } from 'node:fs/promises'
import { isObject, parseJson } from '../protocol/json.ts'
import { twiceIn } from '../services/seed/seed-file.ts'
import { fail, ok, type Finding } from './finding.ts'

/** What a start would refuse of the file, a sentence for each entry; undefined where no server can be asked. */
export type JudgeSeed = (path: string) => Promise<readonly string[] | undefined>

/** As many are told as are read at once. */
const TOLD = 10

export async function examineSeedFile(path: string | undefined, judge: JudgeSeed): Promise<Finding[]> {
  if (path === undefined) return []
  const text = await readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => new Error(code))
  if (text instanceof Error)
    return [
      fail('seed file', `SEED_FILE ${path} cannot be read (${text.message}): mend the path or its rights.`),
    ]
  if (!isObject(parseJson(text)))
    return [fail('seed file', `SEED_FILE ${path} is not a JSON object: no server starts with it.`)]
  const twice = twiceIn(text)
  if (twice !== undefined) return [fail('seed file', `SEED_FILE ${path} ${twice}.`)]
  const refused = await judge(path)
  if (refused === undefined)
    return [
      ok(
        'seed file',
        `SEED_FILE ${path} is a JSON object; its entries are judged at each start, before any is applied.`,
      ),
    ]
  if (refused.length === 0)
    return [ok('seed file', `SEED_FILE ${path} can be read, and each of its entries is as it must be.`)]
  const more = refused.length - TOLD
  return [
    ...refused.slice(0, TOLD).map((sentence) => fail('seed file', `${sentence} No server starts with it.`)),
    ...(more > 0 ? [fail('seed file', `SEED_FILE ${path}: ${more} more entries are refused.`)] : []),
  ]
}
