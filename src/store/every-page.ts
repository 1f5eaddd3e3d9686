/** Reads a whole table page by page, where all of it is kept in memory: as many rows as there are, and none left out. */

/** `read` gives at most `most` rows behind the one whose key is given, in the order of their keys; `''` is before the first. */
export async function everyPage<Row>(
  read: (after: string) => Promise<readonly Row[]>,
  most: number,
  keyOf: (row: Row) => string,
): Promise<Row[]> {
  const rows: Row[] = []
  for (;;) {
    const last = rows.at(-1)
    const page = await read(last === undefined ? '' : keyOf(last))
    rows.push(...page)
    if (page.length < most) return rows
  }
}
