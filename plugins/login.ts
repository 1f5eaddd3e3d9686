/**
 * The interaction step `login`: who is in front of the browser. A session is enough unless the request asks for more:
 * a fresh sign-in (`prompt=login`, `max_age`), or a certain user (`id_token_hint`, a `sub` in `claims`).
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { ApprovalRequest } from '../src/doors/approval.ts'
import type { Session } from '../src/doors/interaction.ts'
import type { Interaction, StepPage } from '../src/doors/interaction.ts'
import { OAuthError } from '../src/protocol/errors.ts'
import { requestedAcr, requestedSubjects, type ClaimsRequest } from '../src/protocol/claims-request.ts'
import { createPasswordSignIn, type RefusedSignIn } from './password-sign-in.ts'

/** The sessions that began here. */
interface Note {
  /** The latest: all that the version before knows, and has noted. */
  readonly sid: string
  readonly sids?: readonly string[]
}

/** More clicks than these make the first ones forgotten. */
const MOST_SESSIONS = 8

async function login(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const signIn = createPasswordSignIn(fastify)

  /** Whether the user is one whom the request is for: `id_token_hint`, or a `sub` asked for by `claims`. */
  function isExpected({ client, parameters }: ApprovalRequest, { userId }: Session): boolean {
    const hinted = parameters['id_token_hint'] as string | undefined
    const claims = parameters['claims'] as ClaimsRequest | undefined
    const requested = claims === undefined ? undefined : requestedSubjects(claims)
    const subject = oauth.subjectOf(userId, client)
    return (hinted ?? subject) === subject && (requested?.includes(subject) ?? true)
  }

  /** OpenID Connect Core §5.5.1.1: an `acr` that is essential and cannot be reached is a failed sign-in. */
  function assertReachable({ parameters }: ApprovalRequest, { acr }: Session): void {
    const claims = parameters['claims'] as ClaimsRequest | undefined
    const requested = claims === undefined ? undefined : requestedAcr(claims)
    if (requested?.essential && requested.values.length > 0 && !requested.values.includes(acr ?? ''))
      throw new OAuthError(
        'unmet_authentication_requirements',
        'no sign-in here reaches the acr that is essential',
      )
  }

  async function page(interaction: Interaction, error?: Partial<RefusedSignIn>): Promise<StepPage> {
    const { session, request } = interaction
    const user = session === null ? null : await oauth.users.get(session.userId)
    const hint = (request.parameters['login_hint'] as string | undefined) ?? ''
    const model = {
      username: error?.username ?? user?.username ?? hint,
      error: error?.text ?? null,
      wait: error?.wait ?? null,
      reauthenticate: user !== null,
      knownUser: user?.username ?? null,
    }
    return { page: 'login', model, status: error?.status ?? 200 }
  }

  oauth.add('interactionStep', {
    name: 'login',
    required: 'login_required',
    async run(interaction) {
      const { session, request, notes } = interaction
      if (session === null) return page(interaction)
      const signedInHere = sidsOf(notes['login'] as Note | undefined).includes(session.sid)
      if (!signedInHere && !isFreshEnough(session, request)) return page(interaction)
      assertReachable(request, session)
      if (isExpected(request, session)) return 'done'
      // OpenID Connect Core §3.1.2.2: tokens for somebody else must not be the answer.
      if (signedInHere)
        throw new OAuthError('login_required', 'another user signed in than the one asked for')
      return page(interaction)
    },
    async submit(interaction, wire, call) {
      const result = await signIn(wire, call)
      if (!('sid' in result)) return page(interaction, result)
      const note: Note = { sid: result.sid }
      return { note, session: result }
    },
    again: async (interaction, wire) => page(interaction, { username: String(wire['username'] ?? '') }),
    // A double click: the cookie of either session may be the one that the browser keeps.
    merge: (before, now): Note => {
      const sids = [before as Note, now as Note].flatMap(sidsOf)
      return { sid: sids.at(-1)!, sids: sids.slice(-MOST_SESSIONS) }
    },
  })
}

function sidsOf(note: Note | undefined): readonly string[] {
  return note === undefined ? [] : (note.sids ?? [note.sid])
}

/** OpenID Connect Core §3.1.2.1: `max_age` in seconds; `prompt` as a list. */
function isFreshEnough({ authenticatedAt }: Session, { parameters }: ApprovalRequest): boolean {
  const prompt = (parameters['prompt'] as readonly string[] | undefined) ?? []
  if (prompt.includes('login') || prompt.includes('select_account')) return false
  const maxAge = parameters['max_age'] as number | undefined
  return maxAge === undefined || Date.now() - authenticatedAt <= maxAge * 1000
}

export default fp(login, {
  name: 'latchkey-login',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-interaction'],
})
