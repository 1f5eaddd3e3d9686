/** Of `pg`, without types of its own: how it writes a value for PostgreSQL to read. */
declare module 'pg/lib/utils.js' {
  export function prepareValue(value: unknown): string | Buffer | null
}
