/** Searches for what begins with a text, in one of several ways, each read by its own index from where a page ended. */

/** Where a page of a search ended: the text that was found, in its index's form, and whose it is. */
export interface Place {
  readonly at: string
  readonly id: string
}

export interface FoundRow extends Place {
  /** It is found nowhere before: not in another way by an earlier text. */
  isFirst: boolean
}

export interface Page<T> {
  readonly found: T[]
  /** What the next page goes on behind; null at the end. */
  readonly next: Place | null
}

interface Search {
  table: string
  /** A select list that has `id`, a text. */
  columns: string
  /** The column of the id, the second of each index unless the way's own value is unique. */
  id: string
  /** What is searched, and the parameter that it begins with. */
  ways: readonly { value: string; text: string; unique?: boolean }[]
  /** Parameters: the place, and how many. */
  at: string
  behind: string
  /** The least id. */
  least: string
  limit: string
}

const LAST = String.raw`U&'\+10FFFF'`
/** Parts of one page that are read, where what they find was mostly found before. */
const ROUNDS = 10

/** By bytes, whatever the language of the database. At most `limit` rows are read of each index. */
export function beginsWith({ table, columns, id, ways, at, behind, least, limit }: Search): string {
  const inC = (text: string): string => `${text} collate "C"`
  const found = ways.map(({ value, text, unique }, way) => {
    const before = ways.flatMap((other, index) => {
      if (index === way) return []
      const smaller = `${inC(other.value)} ${index < way ? '<=' : '<'} ${value}`
      return `coalesce(${inC(other.value)} >= ${other.text} and ${inC(other.value)} < ${other.text} || ${LAST} and ${smaller}, false)`
    })
    // One bound, so that the index is entered there: the place, or where this way begins.
    const from = `greatest(${inC(text)}, ${at}), case when ${inC(at)} >= ${text} then ${behind} else ${least} end`
    return `(select ${columns}, ${value} as "at", not (${before.join(' or ')}) as "isFirst" from ${table}
      where (${inC(value)}, ${id}) > (${from}) and ${inC(value)} < ${text} || ${LAST}
      order by ${inC(value)}${unique ? '' : `, ${id}`} limit ${limit})`
  })
  return `select * from (${found.join(' union all ')}) found order by ${inC('"at"')}, "id" limit ${limit}`
}

/** At most `limit` that were not found before, by `read`, which is `beginsWith` with a place and a limit. */
export async function readPage<Row extends FoundRow>(
  read: (place: Place, limit: number) => Promise<Row[]>,
  { after, limit }: { after: Place; limit: number },
): Promise<Page<Row>> {
  const found: Row[] = []
  let place = after
  for (let round = 0; round < ROUNDS; round++) {
    const rows = await read(place, limit + 1)
    for (const row of rows) {
      if (row.isFirst && found.length === limit) return { found, next: place }
      if (row.isFirst) found.push(row)
      place = { at: row.at, id: row.id }
    }
    if (rows.length <= limit) return { found, next: null }
  }
  return { found, next: place }
}
