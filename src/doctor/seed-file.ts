/** SEED_FILE as far as it can be judged without applying it. */
import { readFile } from 'node:fs/promises'
import { isObject, parseJson } from '../protocol/json.ts'
import { fail, ok, type Finding } from './finding.ts'

export async function examineSeedFile(path: string | undefined): Promise<Finding[]> {
  if (path === undefined) return []
  const text = await readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => new Error(code))
  if (text instanceof Error)
    return [
      fail('seed file', `SEED_FILE ${path} cannot be read (${text.message}): mend the path or its rights.`),
    ]
  return isObject(parseJson(text))
    ? [
        ok(
          'seed file',
          `SEED_FILE ${path} is a JSON object; its entries are judged at each start, before any is applied.`,
        ),
      ]
    : [fail('seed file', `SEED_FILE ${path} is not a JSON object: no server starts with it.`)]
}
