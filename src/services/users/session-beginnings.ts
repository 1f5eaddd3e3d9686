/** How sessions begin, pending or not: by a token of 256 random bits, of which the hash alone is stored, in the place of what the browser had. */
import { randomBytes } from 'node:crypto'
import type { Session } from '../../doors/interaction.ts'
import { hashOf } from '../../protocol/handle.ts'
import { endSession } from '../../store/endings.ts'
import { statements } from '../../store/sessions.ts'
import type { Query } from '../../store/statement.ts'
import type { Note } from '../audit/audit.ts'
import { useOnce } from '../once.ts'
import type { User } from './user.ts'

export interface SignIn {
  /** As they were when they proved who they are. */
  user: Pick<User, 'id' | 'updatedAt'>
  /** RFC 8176. */
  amr: readonly string[]
  acr?: string
  /** Of the browser, for its owner to recognise it by. */
  userAgent?: string | undefined
  address?: string
  /** The account has not signed in with it before, as far as is known; said where somebody wants to know. */
  newBrowser?: boolean
  /** Milliseconds since the epoch; now where it is not said. */
  authenticatedAt?: number
}

/** What a session begins by. */
export interface Beginning {
  /** The new token; one at random where it is not given. */
  readonly token?: string | undefined
  /** What leads to one session alone, also once that has ended: it may come again for as long as a form that is sent twice. */
  readonly once?: string | undefined
}

/**
 * It was used by another request.
 * @internal
 */
export class Spent extends Error {}

/** Milliseconds in which the same form may come again, and some. */
const TWICE_WITHIN = 120_000

/**
 * With the session that it leads to. Throws `Spent`.
 * @internal
 */
export async function spendOnce(query: Query, once: string | undefined): Promise<void> {
  if (once !== undefined && !(await useOnce(query, 'sign-in', once, new Date(Date.now() + TWICE_WITHIN))))
    throw new Spent()
}

/**
 * Seconds that a session lasts unused, and at most.
 * @internal
 */
export interface Lasting {
  readonly idle: number
  readonly expire: number
}

/** Characters. */
const MAX_USER_AGENT = 512

/** Of a browser that goes on as somebody else; the clients that had something of it are told as of any other end. */
async function endFormer(query: Query, note: Note, hashed: string): Promise<void> {
  const [former] = await query(statements.ofCookie, [hashed])
  if (former === undefined) return
  const { userId, sid } = former
  const { clients } = await endSession(query, userId, 'session ended', sid)
  note({ type: 'session.ended', user: userId, details: { sid, clients } })
}

interface Opening {
  readonly signIn: SignIn
  /** 256 random bits, from here on its cookie's. */
  readonly token: string
  readonly former?: string | undefined
  readonly sid: string
  readonly lasting: Lasting
}

/**
 * Renews the session of the token `former` where it is the same user's, or opens one as `sid`, in the transaction of `query`. Null for a
 * user who was disabled or changed meanwhile.
 * @internal
 */
export async function openSession(
  query: Query,
  note: Note,
  { signIn, token, former, sid, lasting }: Opening,
): Promise<{ token: string; session: Session } | null> {
  const { user, amr, acr = null, authenticatedAt = Date.now() } = signIn
  const values = [...beginningOf({ ...signIn, authenticatedAt }, token, former), lasting.idle, lasting.expire]
  const [renewed] = former === undefined ? [] : await query(statements.renew, values)
  if (renewed === undefined && former !== undefined) await endFormer(query, note, hashOf(former))
  const started = [...values, sid, new Date(user.updatedAt)]
  const [opened] = renewed ? [renewed] : await query(statements.start, started)
  if (opened === undefined) return null
  const details = {
    sid: opened.sid,
    amr: [...amr],
    ...(signIn.newBrowser ? { newBrowser: true as const } : {}),
  }
  note({ type: 'user.signed_in', user: user.id, details })
  return { token, session: { sid: opened.sid, userId: user.id, amr, acr, authenticatedAt } }
}

/**
 * The values that begin a session, pending or not, as their statements have them from $1 to $8: last by which its owner recognises it,
 * the browser and its address.
 * @internal
 */
export function beginningOf(signIn: SignIn, token: string, former: string | undefined): readonly unknown[] {
  const { user, amr, acr = null, authenticatedAt = Date.now(), userAgent, address = null } = signIn
  const browser = userAgent?.slice(0, MAX_USER_AGENT).replaceAll('\0', '') ?? null
  const hashes = [hashOf(token), former === undefined ? null : hashOf(former)]
  return [...hashes, user.id, new Date(authenticatedAt), [...amr], acr, browser, address]
}

/** 256 random bits, base64url. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}
