/** What somebody says who registers Latchkey in an app of their own. Types alone, and none of a library's. */
import type { FastifyPluginAsync, FastifyPluginCallback } from 'fastify'
import type { SettingValues } from '../config.ts'

/** A MikroORM instance on PostgreSQL, as far as it is used: for its connections. */
export interface OrmLike {
  readonly em: { getConnection(): object }
}

/** A pool of the package `pg`, as far as people see it. */
export interface PoolLike {
  connect(): Promise<object>
  query(text: string): Promise<object>
  readonly options: object
}

export interface LatchkeyOptions {
  /** Settings by their names; `process.env` will do. HOST, PORT, WORKERS and the like are for the server of our own. */
  settings?: SettingValues
  /** The path of OIDC_ISSUER, which must agree; by default it is what that says. */
  prefix?: string
  /** Your MikroORM instance, whose connections are used; or your pool. Neither is closed. Without, DATABASE_URL. */
  orm?: OrmLike
  pool?: PoolLike
  /** False leaves out everything that shows pages: signing in, consent, administration. Default true. */
  pages?: boolean
  /** Names of plugins of ours to leave out, such as `latchkey-introspection`; the metadata shrinks with them. */
  without?: readonly string[]
  /** Plugins of yours that use our doors, below the issuer's path; after those of the setting PLUGINS. */
  plugins?: readonly (FastifyPluginAsync | FastifyPluginCallback)[]
  /** Whether missing migrations are run at boot; false: they are an error that names them. Default true. */
  migrate?: boolean
  /** Whether this process removes what has expired. Default true. */
  janitor?: boolean
}
