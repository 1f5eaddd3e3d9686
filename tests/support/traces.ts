/** Looks for secrets where none may be: in every form in which one may have been written down. */
import type { TestDatabase } from './database.ts'

/** Every row of every table, as text. */
export async function dump(database: TestDatabase, without: readonly string[] = []): Promise<string> {
  const tables = await database.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema') and tablename <> all($1)`,
    [without],
  )
  const parts = await Promise.all(
    tables.map(async ({ name }) => {
      const rows = await database.query<{ row: string }>(
        `select row_to_json(t)::text || t::text as row from ${name} t`,
      )
      return `${name}\n${rows.map(({ row }) => row).join('\n')}`
    }),
  )
  return parts.join('\n')
}

/** The names of the secrets that stand in `text`, with the form in which they do. */
export function findSecrets(text: string, secrets: ReadonlyMap<string, string>): string[] {
  const folded = text.toLowerCase()
  return [...secrets].flatMap(([name, secret]) =>
    Object.entries(formsOf(secret))
      .filter(([, form]) => form.some((one) => text.includes(one) || folded.includes(one)))
      .map(([form]) => `${name} (${form})`),
  )
}

function formsOf(secret: string): Record<string, string[]> {
  const hex = Buffer.from(secret).toString('hex')
  const everyByte = hex.replaceAll(/../g, '%$&')
  const formEncoded = new URLSearchParams({ '': secret }).toString().slice(1)
  // A Basic header carries the form-encoded secret.
  const base64 = [...withinBase64(secret), ...withinBase64(formEncoded)]
  return {
    raw: [secret, JSON.stringify(secret).slice(1, -1)],
    base64,
    base64url: base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
    hex: [hex],
    percent: [encodeURIComponent(secret), formEncoded, everyByte],
  }
}

/** Wherever in the encoded bytes the secret begins: the characters that depend on it alone. */
function withinBase64(secret: string): string[] {
  return [0, 1, 2].map((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
    const whole = bytes.subarray(0, bytes.length - (bytes.length % 3)).toString('base64')
    return whole.slice(offset === 0 ? 0 : 4)
  })
}
