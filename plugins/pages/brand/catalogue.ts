/** Words of an operator's: each text must be one that can be said with the values of the message that it is for. */
import type { Catalogue } from '../../../src/services/languages/catalogues.ts'
import { problemIn } from '../../../src/services/languages/checked-catalogue.ts'
import { refusal } from './folder.ts'

/** Throws `ConfigError` for what would fail on a page; `file` is how it is called. */
export function assertCatalogue(file: string, catalogue: unknown): asserts catalogue is Catalogue {
  const problem = problemIn(catalogue)
  if (problem !== undefined) throw refusal(`${file}${problem}`)
}
