/** A token that is bound to a key is good for who shows that key, and gives nobody one that is not. */
import { isDeepStrictEqual } from 'node:util'
import type { Binding } from '../../../../src/protocol/facts.ts'
import { refused, type Source } from './source.ts'

/** `shown`: what the request shows that it holds. */
export function assertHeld({ cnf }: Source, shown: Binding | undefined): void {
  if (cnf === undefined) return
  const isHeld = Object.entries(cnf).every(([name, value]) => isDeepStrictEqual(shown?.cnf[name], value))
  if (!isHeld) throw refused('it is bound to a key that the request does not show')
}
