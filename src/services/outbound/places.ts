/** Places of one process for what is asked of others: whoever can bring us to ask cannot take those of everybody. */
import { neighbourhoodOf, networkOf } from '../../protocol/network.ts'
import { currentOrigin } from '../audit/origin.ts'
import { TooManyUnderWay } from './too-many.ts'

/** Requests that are under way at most: all, and those to one origin. */
const MOST = 100
const MOST_AT_ONE = 10
/** Among these, those that anybody may cause: all, those to one origin, and those of one network and of what one party may have of them. */
const BY_ANYBODY = { all: 50, atOne: 5, ofNetwork: 10, ofNeighbourhood: 20 }

/** Runs it in a place, or throws `TooManyUnderWay` where there is none. */
export type InPlace = <T>(origin: string, byAnybody: boolean, ask: () => Promise<T>) => Promise<T>

type Bound = readonly [name: string, most: number]

function boundsOfAnybody(origin: string): readonly Bound[] {
  const { address } = currentOrigin()
  const { all, atOne, ofNetwork, ofNeighbourhood } = BY_ANYBODY
  const bounds: readonly Bound[] = [
    ['by anybody', all],
    [`by anybody at ${origin}`, atOne],
  ]
  if (address === null) return bounds
  return [
    ...bounds,
    [`from ${networkOf(address)}`, ofNetwork],
    [`from around ${neighbourhoodOf(address)}`, ofNeighbourhood],
  ]
}

export function createPlaces(): InPlace {
  const underWay = new Map<string, number>()

  function add(name: string, count: number): void {
    const left = (underWay.get(name) ?? 0) + count
    if (left === 0) underWay.delete(name)
    else underWay.set(name, left)
  }

  return async (origin, byAnybody, ask) => {
    const bounds: Bound[] = [
      ['all', MOST],
      [`at ${origin}`, MOST_AT_ONE],
    ]
    if (byAnybody) bounds.push(...boundsOfAnybody(origin))
    if (bounds.some(([name, most]) => (underWay.get(name) ?? 0) >= most)) throw new TooManyUnderWay()
    for (const [name] of bounds) add(name, 1)
    try {
      return await ask()
    } finally {
      for (const [name] of bounds) add(name, -1)
    }
  }
}
