/**
 * What a connection string says, as `pg` takes it. With TLS the certificate of the server is verified, and so is that it is this
 * server's, unless `sslmode=no-verify` or `uselibpqcompat=true` say otherwise.
 */
import { isIP } from 'node:net'
import type pg from 'pg'
import { parse } from 'pg-connection-string'

/** To `pg` they are `verify-full` too, but it warns of that in eleven lines, as libpq would check less. */
const AS_VERIFY_FULL = /(?<=[?&]sslmode=)(?:prefer|require|verify-ca)(?=[&#]|$)/

/** A user, and no host behind it. */
const USER_ALONE = /^postgres(?:ql)?:\/\/[^/?#]*@(?=(?::\d*)?(?:[/?#]|$))/

/**
 * The same connection with `localhost` for a host that is left out (`postgresql://me@/db?host=/tmp`): to libpq that is an address, and as a
 * URL, with a user and no host, it is none. `host` of the query goes before it, as ever. With neither, libpq takes its own socket, and we
 * `localhost`.
 */
export function withHost(url: string): string {
  return URL.canParse(url) ? url : url.replace(USER_ALONE, '$&localhost')
}

/** Throws for what cannot be, and for a file of a certificate that cannot be read. */
export function connectionOf(url: string): pg.ClientConfig {
  const config = parse(
    url.includes('uselibpqcompat=true') ? url : url.replace(AS_VERIFY_FULL, 'verify-full'),
  ) as unknown as pg.ClientConfig
  const { host, ssl, sslnegotiation = 'postgres' } = config
  if (!/^(?:postgres|direct)$/.test(sslnegotiation)) throw new Error('sslnegotiation is postgres or direct')
  if (host == null || isIP(host) === 0 || typeof ssl === 'string' || !ssl) return config
  // `pg` tells TLS no address, which would take the certificate of any `localhost` for that of this one.
  return { ...config, ssl: { ...(ssl === true ? {} : ssl), host } }
}
