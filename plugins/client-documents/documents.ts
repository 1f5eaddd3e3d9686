/**
 * The clients of metadata documents: as their documents are, by the rules of HTTP; for a while as they were when they could last be read,
 * so that what goes on does not end with somebody else's server; and nobody that is blocked.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { ClientSource, SourcedClient } from '../../src/doors/client-source.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { freshnessOf } from '../../src/services/outbound/freshness.ts'
import { TooManyUnderWay } from '../../src/services/outbound/too-many.ts'
import { statements, type ClientDocumentRow } from '../../src/store/client-documents.ts'
import type { Database } from '../../src/store/database.ts'
import type { Blocked } from './blocked.ts'
import { bareClient, type JudgedClient, type JudgeDocument } from './judge.ts'
import { DocumentAway, type ReadClientDocument } from './reading.ts'

/** Milliseconds for which a document that is away, or no good any more, serves what goes on. */
const KEPT = 86_400_000
/** Documents that are kept at once; of more each process knows its own, and nothing of them outlasts a failure. */
const MOST = 100_000
/** Milliseconds, of what may be another in a moment. */
const SOON = 5000
/** Milliseconds, of what nobody asks for. */
const LATER = 60_000

export interface DocumentsOptions {
  database: Database
  log: FastifyBaseLogger
  read: ReadClientDocument
  judge: JudgeDocument
  blocked: Pick<Blocked, 'since'>
  /** The address that a client_id is; null for one that is none, or of a host that is not taken. */
  urlOf: (clientId: string) => URL | null
  /** Seconds. */
  consentLifetime: number
  most?: number
}

export function createDocuments(options: DocumentsOptions): ClientSource {
  const { database, log, read, judge, blocked, urlOf, consentLifetime, most = MOST } = options

  /** What people allowed it before it was blocked is of another. */
  const sourced = (
    { client, identity }: JudgedClient,
    since: number,
    { goodUntil, away }: Pick<SourcedClient, 'goodUntil' | 'away'>,
  ): SourcedClient => ({
    client,
    unregistered: { identity: `${identity} ${since}`, consentLifetime },
    since,
    goodUntil,
    away,
  })

  async function download(clientId: string, url: URL, since: number): Promise<SourcedClient> {
    const { document, headers } = await read(url)
    let judged: JudgedClient
    try {
      judged = await judge(clientId, document)
    } catch (error) {
      if (!(error instanceof OAuthError) || error.status >= 500) throw error
      throw new DocumentAway(`cannot be taken: ${error.message}`, { cause: error })
    }
    const now = Date.now()
    const { fresh, stale } = freshnessOf(headers)
    const times = [now, now + fresh, now + stale, now + KEPT].map((at) => new Date(at))
    await database.query(statements.keep, [clientId, document, ...times, most])
    return sourced(judged, since, { goodUntil: now + fresh })
  }

  /** As it was last known, where it is still good by the rules of today. */
  async function again(
    clientId: string,
    row: ClientDocumentRow | undefined,
  ): Promise<JudgedClient | undefined> {
    if (row === undefined) return undefined
    try {
      return await judge(clientId, row.document, true)
    } catch (error) {
      if (error instanceof OAuthError) return undefined
      throw error
    }
  }

  return {
    recognizes: (clientId) => urlOf(clientId) !== null,
    async find(clientId) {
      const url = urlOf(clientId)
      const since = url === null ? null : await blocked.since(url)
      if (url === null || since === null) return null
      const [row] = await database.query(statements.find, [clientId])
      const had = await again(clientId, row)
      const freshUntil = row === undefined || row.isAhead ? 0 : row.freshUntil.getTime()
      if (had !== undefined && Date.now() < freshUntil) return sourced(had, since, { goodUntil: freshUntil })
      try {
        return await download(clientId, url, since)
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error
        if (error.status >= 500 && !(error instanceof TooManyUnderWay)) throw error
        const passing = !(error instanceof DocumentAway) || error.passing
        if (error instanceof DocumentAway)
          log.info({ client: clientId, err: error }, 'a client cannot be read')
        if (had === undefined) throw error
        const isGood = passing && !row!.isAhead && Date.now() < row!.staleUntil.getTime()
        return sourced(had, since, { goodUntil: Date.now() + SOON, away: isGood ? undefined : error })
      }
    },
    async recall(clientId) {
      const url = urlOf(clientId)
      const since = url === null ? null : await blocked.since(url)
      if (since === null) return null
      const [row] = await database.query(statements.find, [clientId])
      const known = (await again(clientId, row)) ?? { client: bareClient(clientId), identity: '' }
      return sourced(known, since, { goodUntil: Date.now() + LATER })
    },
  }
}
