/**
 * The interaction step `login`: who is in front of the browser. A session is enough unless the request asks for more:
 * a fresh sign-in (`prompt=login`, `max_age`), or a certain user (its own, `id_token_hint`, a `sub` in `claims`). How people show that it is
 * them is for the registered methods.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import type { Session } from '../../src/doors/interaction.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { ageOf } from '../../src/protocol/age-of.ts'
import { usernameKey } from '../../src/protocol/username.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { requestedSubjects, type ClaimsRequest } from '../../src/protocol/claims-request.ts'
import { addAcrPolicies } from './asked-acr.ts'
import { shownOnce } from '../browser/shown-once.ts'
import { LOGIN } from '../interaction/phases.ts'
import { promptsOf } from '../interaction/prompt.ts'
import { bothOf, isNoted, noteOf, type SignInNote } from '../interaction/sign-in-note.ts'
import { createSignInPage, type MethodNote } from './page.ts'

/** Who signed in here, and what a method noted that has a page of its own. */
type Note = MethodNote & SignInNote

async function login(fastify: FastifyInstance): Promise<void> {
  const { oauth, browser } = fastify
  const signInPage = createSignInPage(fastify)

  /** Whether the user is one whom the request is for: by itself, by `id_token_hint`, or by a `sub` in `claims`. */
  function isExpected({ client, user = '', parameters }: ApprovalRequest, { userId }: Session): boolean {
    const hinted = parameters['id_token_hint'] as string | undefined
    const claims = parameters['claims'] as ClaimsRequest | undefined
    const requested = claims === undefined ? undefined : requestedSubjects(claims)
    const subject = oauth.subjectOf(userId, client)
    if (user !== '' && user !== userId) return false
    return (hinted ?? subject) === subject && (requested?.includes(subject) ?? true)
  }

  addAcrPolicies(fastify)
  oauth.add('interactionStep', {
    name: LOGIN,
    phase: 'authenticate',
    required: 'login_required',
    async run(interaction, call, { fresh = false } = {}) {
      const { session, request, notes } = interaction
      const note = notes[LOGIN] as Note | undefined
      if (session === null) return signInPage.show(interaction, note, call)
      const signedInHere = isNoted(session, note)
      if (!signedInHere && (fresh || !isFreshEnough(session, request)))
        return signInPage.show(interaction, note, call)
      if (isExpected(request, session)) return 'done'
      // OpenID Connect Core §3.1.2.2: tokens for somebody else must not be the answer.
      if (signedInHere)
        throw new OAuthError('login_required', 'another user signed in than the one asked for')
      return signInPage.show(interaction, note, call)
    },
    async submit(interaction, wire, call, part) {
      const note = interaction.notes[LOGIN] as Note | undefined
      const result = await signInPage.submit(interaction, note, wire, call, part)
      if ('page' in result || 'elsewhere' in result) return result
      if ('state' in result) return { note: result satisfies Note }
      const { isOnce = false, ...proof } = result.proof
      const signIn = isOnce === false ? proof : { ...proof, form: wire, once: onceOf(isOnce, wire) }
      const session = await browser.signIn(call, signIn, interaction.request)
      if (session === null) return { ...(await signInPage.show(interaction, note, call)), status: 403 }
      return { note: noteOf(session, interaction.session) satisfies Note, session }
    },
    again: async (interaction, wire, call, part) =>
      signInPage.show(interaction, interaction.notes[LOGIN] as Note | undefined, call, { wire, part }),
    // Somebody else is not taken for who is there.
    async repeats({ session }, { username }) {
      if (session === null || typeof username !== 'string') return true
      const user = await oauth.findUser(session.userId)
      return user !== null && usernameKey(username) === usernameKey(user.username)
    },
    merge: (before, now): Note => ({ ...(now as Note), ...bothOf(before as Note, now as Note) }),
  })
}

/** What may begin one session. */
function onceOf(isOnce: true | string, wire: Wire): string {
  return isOnce === true ? `form ${JSON.stringify(wire)}` : shownOnce(isOnce).once
}

/** OpenID Connect Core §3.1.2.1: `max_age` is in seconds. */
function isFreshEnough({ authenticatedAt }: Session, request: ApprovalRequest): boolean {
  const prompts = promptsOf(request)
  if (['login', 'select_account', 'create'].some((one) => prompts.includes(one))) return false
  const maxAge = request.parameters['max_age'] as number | undefined
  return maxAge === undefined || ageOf(authenticatedAt) <= maxAge * 1000
}

export default fp(login, {
  name: 'latchkey-login',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-interaction'],
})
