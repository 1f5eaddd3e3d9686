/** What distributes a database over several servers: `fdw` for partitions on others by postgres_fdw, `citus` for Citus. */
export type Engine = 'fdw' | 'citus'
