/**
 * How people leave a page that asks who is signed in for something, as consent does: as somebody else. Pages that ask for another factor also
 * lead back to the app, and say whom they ask and for which app.
 */
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { Interaction } from '../../src/doors/interaction.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { isOurs } from '../../src/services/users/ourselves.ts'
import type { OAuth } from '../oauth/index.ts'
import { isForOne } from './is-for-one.ts'
import type { ClientView, FormTarget } from '../pages/models.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'factor-ways-out': WaysOutPart
  }
}

export interface WaysOut {
  /** Whose sign-in it is. */
  username: string
  /** For who is not that user; null where the request is for nobody else. */
  notYou: FormTarget | null
  /** Answers the app that nobody signs in; null where none waits in this browser. */
  leave: FormTarget | null
}

/** What the part has, of a page's model. */
export type WaysOutPart = Pick<WaysOut, 'notYou' | 'leave'> & { client: Pick<ClientView, 'name'> }

/** The template of the part. */
export const WAYS_OUT = 'factor-ways-out'
/** The form by which somebody says that they are not the one who is asked. */
export const NOT_YOU = 'not-you'
const LEAVE = 'leave'

/** `step` is the one whose page it is; `username` that of who signs in. */
export function waysOut({ request, formFor }: Interaction, step: string, username: string): WaysOut {
  return {
    username,
    notYou: isForOne(request) ? null : formFor(step, NOT_YOU),
    leave: isAwaited(request) ? formFor(step, LEAVE) : null,
  }
}

/**
 * What a form of `waysOut` leads to: `page` where that way is none for this request; undefined for any other form. For the one back to the
 * app: tells the audit log of a sign-in that is left, and throws `access_denied` for the app.
 */
export async function takeWayOut<Shown>(
  { audit }: Pick<OAuth, 'audit'>,
  { request, session }: Interaction,
  part: string | undefined,
  page: () => Promise<Shown>,
): Promise<{ someoneElse: true } | Shown | undefined> {
  if (part !== NOT_YOU && part !== LEAVE) return undefined
  if (part === NOT_YOU) return isForOne(request) ? page() : { someoneElse: true }
  if (!isAwaited(request)) return page()
  const of = { user: session!.userId, client: request.client.clientId }
  // Whoever is signed in and shows no more, as the app has asked, leaves no sign-in behind.
  if (session!.pending === true) audit.observe({ type: 'user.sign_in_abandoned', ...of, details: {} })
  throw new OAuthError('access_denied', 'the user left without showing another factor')
}

/** Whether an app waits in this browser: one that waits elsewhere, as for a device, is told by who has signed in. */
const isAwaited = (request: ApprovalRequest): boolean => !isOurs(request) && request.redirectUri !== undefined
