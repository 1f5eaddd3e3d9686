/** Places of one process for what is asked of others: whoever can bring us to ask cannot take those of everybody. */
import { networkOf } from '../../protocol/network.ts'
import { currentOrigin } from '../audit/origin.ts'
import { TooManyUnderWay } from './too-many.ts'

/** Requests that are under way at most: all, those to one origin, those that anybody may cause, and those of one network among these. */
const MOST = 100
const MOST_AT_ONE = 10
const MOST_BY_ANYBODY = 50
const MOST_OF_NETWORK = 10

/** Runs it in a place, or throws `TooManyUnderWay` where there is none. */
export type InPlace = <T>(origin: string, byAnybody: boolean, ask: () => Promise<T>) => Promise<T>

export function createPlaces(): InPlace {
  const underWay = new Map<string, number>()

  function add(name: string, count: number): void {
    const left = (underWay.get(name) ?? 0) + count
    if (left === 0) underWay.delete(name)
    else underWay.set(name, left)
  }

  return async (origin, byAnybody, ask) => {
    const bounds: [name: string, most: number][] = [
      ['all', MOST],
      [`at ${origin}`, MOST_AT_ONE],
    ]
    const { address } = currentOrigin()
    if (byAnybody) bounds.push(['by anybody', MOST_BY_ANYBODY])
    if (byAnybody && address !== null) bounds.push([`from ${networkOf(address)}`, MOST_OF_NETWORK])
    if (bounds.some(([name, most]) => (underWay.get(name) ?? 0) >= most)) throw new TooManyUnderWay()
    for (const [name] of bounds) add(name, 1)
    try {
      return await ask()
    } finally {
      for (const [name] of bounds) add(name, -1)
    }
  }
}
