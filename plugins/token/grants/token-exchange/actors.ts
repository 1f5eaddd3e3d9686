/** Who acts for whom (RFC 8693 §4.1, §4.4), and for how long a line of them goes on. */
import { allBehind, MOST_BEHIND } from '../../../../src/doors/parents.ts'
import type { Client } from '../../../../src/doors/client.ts'
import type { Granted } from '../../../../src/doors/facts.ts'
import type { Bag } from '../../../../src/protocol/bag.ts'
import type { Actor, Parent } from '../../../../src/protocol/facts.ts'
import { isObject } from '../../../../src/protocol/json.ts'
import { refused, type Source } from './source.ts'

/** Exchanges in a row, and actors in a line. */
const LONGEST = 4

/** `may_act` of the subject's token names who alone may; by `iss`, at which server. */
export function assertMayAct({ mayAct }: Source, { sub }: Actor, { clientId }: Client, issuer: string): void {
  if (mayAct === undefined) return
  const named: Bag = isObject(mayAct) ? mayAct : {}
  const { iss = issuer, client_id: by = clientId } = named
  if (named['sub'] !== sub || iss !== issuer || by !== clientId)
    throw refused('its may_act names somebody else')
}

/** Throws where one exchange more would be too many; `behind` is what it would end with. */
export function assertShortEnough({ actor, parent }: Source, behind: Parent): void {
  const isLong =
    lengthOf(actor, ({ act }) => act) >= LONGEST || lengthOf<Parent>(parent, (one) => one.parent) > LONGEST
  if (isLong || allBehind(behind).length > MOST_BEHIND) throw refused('it was exchanged too often')
}

/** What is granted ends with the token of the subject, and with that of the actor. */
export function behind({ parent }: Source, acting: Source | undefined): Parent {
  return acting === undefined ? parent : { ...parent, actor: acting.parent }
}

/** The newest outside; nobody is taken out of the line, also where nobody is added. */
export function actorsOf({ actor }: Source, newest: Actor | undefined): Pick<Granted, 'actor'> {
  if (newest === undefined) return actor === undefined ? {} : { actor }
  return { actor: actor === undefined ? newest : { ...newest, act: actor } }
}

function lengthOf<Link>(first: Link | undefined, next: (link: Link) => Link | undefined): number {
  let length = 0
  for (let at = first; at !== undefined; at = next(at)) length++
  return length
}
