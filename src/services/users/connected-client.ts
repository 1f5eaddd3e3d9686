/** What a client has of a user: what was allowed, and what it holds. */
import type { Parameter } from '../../doors/approval.ts'
import type { ListedAuthorizationRow } from '../../store/authorizations.ts'
import type { ConnectedRow } from '../../store/consents.ts'
import type { Words } from '../../protocol/message.ts'
import { wordsOfLine } from './consent-lines.ts'

/** Instants are milliseconds since the epoch. */
export interface ConnectedClient {
  readonly clientId: string
  /** Allowed or held, of all Authorizations. */
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  /** What was allowed beside them: in English, as it is remembered, and for people. */
  readonly lines: readonly { readonly text: string; readonly words: Words }[]
  /** The first that is known. */
  readonly since: number
  /** When a code or refresh token was last exchanged, or something allowed. */
  readonly usedAt: number
  /** Whether it can get access tokens without the user, by a refresh token. */
  readonly refreshable: boolean
}

/** @internal */
export function toConnected(
  { clientId, scopes, resources, lines, grantedAt }: ConnectedRow,
  held: readonly ListedAuthorizationRow[],
  parameters: readonly Parameter[],
): ConnectedClient {
  const granted = grantedAt === null ? [] : [grantedAt.getTime()]
  /** Two keys may say the same. */
  const texts = new Map(Object.entries(lines ?? {}).map(([key, text]) => [text, key]))
  return {
    clientId,
    scopes: united(scopes ?? [], ...held.map((one) => one.scopes)),
    resources: united(resources ?? [], ...held.map((one) => one.resources)),
    lines: [...texts].map(([text, key]) => ({ text, words: wordsOfLine(parameters, key, text) })),
    since: Math.min(...granted, ...held.map(({ createdAt }) => createdAt.getTime())),
    usedAt: Math.max(...granted, ...held.map(({ usedAt, createdAt }) => (usedAt ?? createdAt).getTime())),
    refreshable: held.some(({ refreshable }) => refreshable),
  }
}

function united(...lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())]
}
