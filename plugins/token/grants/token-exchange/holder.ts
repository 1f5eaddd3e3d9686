/** A token that is bound to a key is good for who shows that key, and gives nobody one that is not. */
import type { Binding } from '../../../../src/protocol/facts.ts'
import { holds } from '../../../../src/services/tokens/binding.ts'
import { refused, type Source } from './source.ts'

/** `shown`: what the request shows that it holds. */
export function assertHeld({ cnf }: Source, shown: Binding | undefined): void {
  if (cnf !== undefined && !holds(shown, { cnf }))
    throw refused('it is bound to a key that the request does not show')
}
