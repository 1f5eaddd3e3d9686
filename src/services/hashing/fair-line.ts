/**
 * A line in which groups take turns, and within a group those who make it up: who comes with many waits behind their own.
 * Where it becomes too long, the last of the largest group leaves it (max-min fairness). How long that is, is its owner's to say.
 */
export interface FairLine<T> {
  readonly size: number
  /** `group` from the widest to the narrowest, such as a network and an address in it. */
  add(group: readonly string[], one: T): void
  /** Takes out whose turn it is; undefined when nobody waits. */
  next(): T | undefined
  /** Takes out who came last in the largest group, and there in the largest within it. */
  last(): T | undefined
}

interface Branch<T> {
  size: number
  /** In the order of their turns. */
  readonly groups: Map<string, Branch<T>>
  /** Where it has no groups, in the order of coming. */
  readonly waiting: T[]
}

const createBranch = <T>(): Branch<T> => ({ size: 0, groups: new Map(), waiting: [] })

export function createFairLine<T>(): FairLine<T> {
  const root = createBranch<T>()
  return {
    get size() {
      return root.size
    },
    add(group, one) {
      let at = root
      at.size++
      for (const name of group) {
        const inner = at.groups.get(name) ?? createBranch<T>()
        at.groups.set(name, inner)
        at = inner
        at.size++
      }
      at.waiting.push(one)
    },
    next: () => takeNext(root),
    last: () => takeLast(root),
  }
}

function takeNext<T>(branch: Branch<T>): T | undefined {
  const [first] = branch.groups
  if (first === undefined) return taken(branch, branch.waiting.shift())
  const [name, group] = first
  const one = takeNext(group)
  // Behind all others.
  branch.groups.delete(name)
  if (group.size > 0) branch.groups.set(name, group)
  return taken(branch, one)
}

function takeLast<T>(branch: Branch<T>): T | undefined {
  let largest: [name: string, group: Branch<T>] | undefined
  for (const one of branch.groups) if (largest === undefined || one[1].size >= largest[1].size) largest = one
  if (largest === undefined) return taken(branch, branch.waiting.pop())
  const [name, group] = largest
  const one = takeLast(group)
  if (group.size === 0) branch.groups.delete(name)
  return taken(branch, one)
}

function taken<T>(branch: Branch<T>, one: T | undefined): T | undefined {
  if (one !== undefined) branch.size--
  return one
}
