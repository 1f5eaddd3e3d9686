/**
 * What Citus refuses of a statement, by its text. Each rule was seen with Citus 13.2, and where there is one at hand, its example is
 * shown to it again (tests/flows/citus.test.ts). Calls of functions that Citus sends on are judged by what is in them.
 */

/** By their key, of those that are distributed; and the columns of all others. */
export interface Tables {
  readonly distributed: ReadonlyMap<string, string>
  readonly local: ReadonlyMap<string, ReadonlySet<string>>
}

interface Rule {
  readonly says: string
  /** A statement that breaks it, without parameters. */
  readonly example: string
  /** By Citus; what it takes in spite of it is not safe there. */
  readonly isRefused: boolean
  /** Of one statement: whether it does so. */
  readonly breaks: (text: string, tables: Tables) => boolean
}

const WRITES = /\b(?:insert\s+into|update|delete\s+from)\s+"?(\w+)"?/gi
const INCONSTANT =
  /\b(?:now|clock_timestamp|statement_timestamp|random|gen_random_uuid)\s*\(|\bcurrent_timestamp\b/i
/** Depends on the zone of the connection, as far as PostgreSQL knows. */
const LOCAL_TIME = /\bextract\s*\((?![^()]*\bat\s+time\s+zone\b)/i

/** What each pair of parentheses holds, and all of it. */
function groupsIn(text: string): string[] {
  const groups = [text]
  const open: number[] = []
  for (let at = 0; at < text.length; at++)
    if (text[at] === '(') open.push(at)
    else if (text[at] === ')') groups.push(text.slice((open.pop() ?? -1) + 1, at))
  return groups
}

/** Without what its own parentheses hold. */
function surfaceOf(group: string): string {
  let depth = 0
  return group
    .split('')
    .filter((character) => {
      if (character === ')') depth--
      const isOutside = depth === 0
      if (character === '(') depth++
      return isOutside
    })
    .join('')
}

/** `from` the opening word on, to where it is closed. */
function expressionsIn(text: string): string[] {
  const found: string[] = []
  for (const { index } of text.matchAll(/\bcoalesce\s*\(/gi)) {
    let depth = 0
    let end = text.indexOf('(', index)
    do {
      if (text[end] === '(') depth++
      if (text[end] === ')') depth--
      end++
    } while (depth > 0 && end < text.length)
    found.push(text.slice(index, end))
  }
  const open: number[] = []
  for (const word of text.matchAll(/\b(?:case|end)\b/gi))
    if (word[0].toLowerCase() === 'case') open.push(word.index)
    else if (open.length > 0) found.push(text.slice(open.pop(), word.index))
  return found
}

/** To the parenthesis that closes what was opened before it. */
function untilClosed(rest: string): string {
  let depth = 0
  const end = rest.split('').findIndex((character) => {
    if (character === '(') depth++
    if (character === ')') depth--
    return depth < 0
  })
  return end === -1 ? rest : rest.slice(0, end)
}

const tablesIn = (surface: string): string[] =>
  [...surface.matchAll(/\b(?:from|join|update|into)\s+"?(\w+)"?/gi)].map(([, name]) => name!)

export const RULES: readonly Rule[] = [
  {
    says: 'a function that is not immutable in CASE or COALESCE of a statement that writes',
    isRefused: true,
    example: `delete from authorization_codes where authorization_id = '00000000-0000-4000-8000-000000000001'
      and case when spent_at is null then expires_at > now() else false end`,
    breaks: (text) =>
      text.search(WRITES) >= 0 && expressionsIn(text).some((expression) => INCONSTANT.test(expression)),
  },
  {
    says: 'LIMIT in a lateral subquery',
    isRefused: true,
    example: `select * from unnest('{a,b}'::text[]) as wanted (client)
      cross join lateral (select * from authorizations where client_id = wanted.client order by created_at limit 2) young`,
    breaks: (text) =>
      text
        .split(/\blateral\b/i)
        .slice(1)
        .some((rest) => /\blimit\b/i.test(groupsIn(rest.slice(rest.indexOf('('))).at(1) ?? '')),
  },
  {
    says: 'recursion',
    isRefused: true,
    example: `with recursive one (id) as (select client_id from authorizations where subject = 'a' union all
      select (select client_id from authorizations where client_id > one.id order by 1 limit 1) from one where one.id is not null)
      select * from one`,
    breaks: (text) => /\bwith\s+recursive\b/i.test(text),
  },
  {
    says: 'a subquery in LIMIT',
    isRefused: true,
    example: `select id from authorizations order by id limit (select 5 where random() >= 0)`,
    breaks: (text) => /\b(?:limit|offset)\s*\(\s*select\b/i.test(text),
  },
  {
    says: 'rows of several servers locked by FOR UPDATE or FOR SHARE',
    isRefused: true,
    example: `select id from authorizations where subject = 'a' for update`,
    breaks: (text, { distributed }) =>
      groupsIn(text).some((group) => {
        const surface = surfaceOf(group)
        if (!/\bfor\s+(?:no\s+key\s+)?(?:update|share|key\s+share)\b/i.test(surface)) return false
        return tablesIn(surface.replace(/^\s*insert\s+into\s+\S+/i, '')).some((name) => {
          const key = distributed.get(name)
          return key !== undefined && !new RegExp(`"?${key}"?\\s*=\\s*(?:\\$\\d|"p_)`).test(surface)
        })
      }),
  },
  {
    says: 'several tables written by one statement, which would be committed by two phases',
    isRefused: false,
    example: `with gone as (delete from authorization_codes where authorization_id = '00000000-0000-4000-8000-000000000001'
      returning authorization_id)
      insert into sessions (hash) select hash from sessions where sid in (select authorization_id from gone)`,
    breaks: (text) => new Set([...text.matchAll(WRITES)].map(([, name]) => name)).size > 1,
  },
  {
    says: 'a local table joined with a distributed one',
    isRefused: true,
    example: `select id, (select expires_at from sessions where sid = (authentication->>'sid')::uuid) from authorizations limit 5`,
    breaks: (text, { distributed, local }) =>
      groupsIn(text).some((outer) => {
        if (!tablesIn(surfaceOf(outer)).some((name) => distributed.has(name))) return false
        if (/\binsert\s+into\b/i.test(surfaceOf(outer))) return false
        if (tablesIn(surfaceOf(outer)).some((name) => local.has(name))) return true
        // One in parentheses is asked first, unless it names what is outside of it.
        return groupsIn(outer)
          .slice(1)
          .some((inner) => {
            const [table] = tablesIn(surfaceOf(inner))
            const columns = table === undefined ? undefined : local.get(table)
            if (columns === undefined) return false
            const named = [...inner.matchAll(/"(\w+)"|\b(authentication|subject|client_id)\b/g)]
            return named.some(([, quoted, bare]) => {
              const name = quoted ?? bare!
              return name !== table && !columns.has(name)
            })
          })
      }),
  },
  {
    says: 'a function that is not immutable in RETURNING',
    isRefused: true,
    example: `update authorizations set revoked_at = null where id = '00000000-0000-4000-8000-000000000001'
      returning extract(epoch from created_at)`,
    breaks: (text, { distributed }) =>
      groupsIn(text).some((group) => {
        const [, written = '', returned = ''] =
          /\b(?:update|into|from)\s+"?(\w+)"?[\s\S]*?\breturning\b([\s\S]*)$/i.exec(group) ?? []
        const own = untilClosed(returned)
        return distributed.has(written) && (INCONSTANT.test(own) || LOCAL_TIME.test(own))
      }),
  },
]

/** What it would refuse of a text, which may be several statements with `;` between. */
export function refusedIn(text: string, tables: Tables): string[] {
  const bare = text.replaceAll(/'(?:[^']|'')*'/g, "''")
  const parts = bare.split(';').filter((part) => part.trim() !== '')
  const found = RULES.filter(({ breaks }) => parts.some((part) => breaks(part, tables)))
  return found.map(({ says }) => says)
}
