/** What a failed statement means for the request: try again, come back later, or a bug of ours. */

/** serialization_failure and deadlock_detected: the transaction did nothing and may simply be run again. */
const RETRYABLE: ReadonlySet<string> = new Set(['40001', '40P01'])

/** Classes and codes that say the database cannot serve now, or lets nobody in (PostgreSQL, appendix A). */
const UNAVAILABLE = /^(?:08|28|53|57P|58)|^(?:25006|25P03|25P04|3D000|55P03|57014|XX000)$/
/** lock_not_available and query_canceled: the statement was ended, and its connection is as good as before. */
const ENDED: ReadonlySet<string> = new Set(['55P03', '57014'])
const NETWORK = /^(?:ECONN|EPIPE|ENOENT|EACCES|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/
/** Of Node's TLS (its documentation, "X509 certificate error codes"): what is no certificate of the server's, or no more. */
const TLS =
  /^(?:ERR_(?:TLS|SSL)_|CERT_|CRL_|DEPTH_ZERO_|ERROR_IN_C|HOSTNAME_MISMATCH$|INVALID_(?:CA|PURPOSE)$|PATH_LENGTH_EXCEEDED$|SELF_SIGNED_CERT|UNABLE_TO_(?:DECODE|DECRYPT|GET|VERIFY)_)/
/** Of Node's `fetch`, before and within the answer. */
const FETCH = /^(?:fetch failed|terminated)$/
const CLOSED = /cannot use a pool after calling end/i
const DRIVER =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|SSL connections?$|^SASL: |client has encountered a connection error|cannot use a pool after calling end/i

/** The SQLSTATE of a failure, looking through what an ORM wrapped around it. */
export function sqlState(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const { code } = at as { code?: unknown }
    if (typeof code === 'string') return code
  }
  return undefined
}

export function isRetryable(error: unknown): boolean {
  return RETRYABLE.has(sqlState(error) ?? '')
}

/** 23505: a row with this key is there already. Constraint names differ on sharding engines, the code does not. */
export function isDuplicate(error: unknown): boolean {
  return sqlState(error) === '23505'
}

/** Whether what a row belongs to is not there, or not any more. */
export function isOrphan(error: unknown): boolean {
  return sqlState(error) === '23503'
}

/** Whether PostgreSQL never takes these values, however often they come (classes 22 and 23): data exceptions, constraints. */
export function isMisfit(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? '')
}

/** Whether a connection is good for nothing more after this: it broke, or what became of its statement is not known. */
export function isLost(error: unknown): boolean {
  return (
    isUnavailable(error) && !isRetryable(error) && !ENDED.has(sqlState(error) ?? '') && !isElsewhere(error)
  )
}

/**
 * Whether it is another server that is away, which the one that we are connected to asked: that one has undone the statement, and
 * its connection is as good as before. What ends a connection of ours is more than an error to PostgreSQL.
 */
export function isElsewhere(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const { code, severity } = at as { code?: unknown; severity?: unknown }
    if (severity === 'ERROR' && typeof code === 'string') return /^(?:08|57P)/.test(code)
  }
  return false
}

/** Whether it was we who closed the database: no later try finds it open. */
export function isClosed(error: unknown): boolean {
  return error instanceof Error && CLOSED.test(error.message)
}

/**
 * Whether it is a `fetch` that failed, as of a plugin: its reasons have the names that those of a connection to the database have, and no driver ever
 * fails by it (the Fetch standard has it throw a TypeError).
 */
export function isOfFetch(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++)
    if (at instanceof TypeError && FETCH.test(at.message)) return true
  return false
}

/** Whether the database is away or cannot take the statement now; the caller answers 503 and may be asked again. */
export function isUnavailable(error: unknown): boolean {
  if (isOfFetch(error)) return false
  const code = sqlState(error)
  if (code !== undefined && [UNAVAILABLE, NETWORK, TLS].some((codes) => codes.test(code))) return true
  if (code !== undefined && RETRYABLE.has(code)) return true
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if (DRIVER.test(at.message)) return true
    if (at instanceof AggregateError && at.errors.some(isUnavailable)) return true
  }
  return false
}
