/**
 * Who has asked for the deletion of their account, and signs in before it is due: nothing is open to them but this step, which asks whether
 * they keep it. That they must show it is a policy, so whatever is asked of a session that lacks a factor is asked of theirs.
 */
import type { FastifyInstance } from 'fastify'
import type { Requirement } from '../../src/doors/assurance.ts'
import type { Interaction, StepPage } from '../../src/doors/interaction.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { isOurs } from '../../src/services/users/ourselves.ts'
import type { FormTarget } from '../pages/models.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'keep-account': KeepAccountPage
  }
}

interface KeepAccountPage extends FormTarget {
  username: string
  /** When it is deleted; null where it is kept. */
  due: Date | null
  /** Null where nobody can sign out by a page. */
  signOutUri: string | null
}

const STEP = 'keep-account'
const KEPT = 'account-kept'
/** No sign-in ever shows it: keeping the account takes the demand away. */
const DEMAND: Requirement = { amr: ['account kept'] }

export async function addKeepAccount(fastify: FastifyInstance): Promise<void> {
  const { oauth, pages } = fastify
  const { accountDeletions } = kernelOf(fastify)
  const signOut = `${oauth.config.basePath}/end-session`
  await pages.add(STEP, new URL('../../templates/keep-account.eta', import.meta.url), { kind: 'interaction' })

  async function page({ formFor, session }: Interaction, step: string): Promise<StepPage> {
    const { username, deletesAt } = await oauth.users.get(session!.userId)
    const due = deletesAt === null ? null : new Date(deletesAt)
    const signOutUri = fastify.hasRoute({ method: 'GET', url: signOut }) ? signOut : null
    return { page: STEP, model: { ...formFor(step), username, due, signOutUri } }
  }

  oauth.add('assurance', {
    name: STEP,
    // What is demanded for pages of ours is demanded of every session.
    require: ({ user, request }) => (user.deletesAt === null || !isOurs(request) ? null : DEMAND),
  })
  oauth.add('interactionStep', {
    name: STEP,
    phase: 'authenticate',
    required: 'login_required',
    // Whatever else is missing comes first: it is not kept by who has the password alone.
    run: async (interaction) =>
      interaction.session !== null && interaction.missing.length > 0 && interaction.missing.every(isDemand)
        ? page(interaction, STEP)
        : 'done',
    async submit(interaction, _wire, { request }) {
      if (interaction.session === null || !interaction.missing.every(isDemand)) return page(interaction, STEP)
      const { userId } = interaction.session
      request.actor = { kind: 'user', id: userId }
      await accountDeletions.cancel(userId)
      // Where nothing is missing any more they are signed in already.
      return { note: userId, ...(interaction.missing.length > 0 ? { shown: { amr: [] } } : {}) }
    },
    // Kept by this form already, though its answer never came, or from elsewhere: they read that it is.
    changes: async ({ session, notes }) => session !== null && notes[STEP] !== session.userId,
  })
  // Who has kept it reads that before they go on.
  oauth.add('interactionStep', {
    name: KEPT,
    phase: 'authenticate',
    required: 'login_required',
    run: async (interaction) =>
      interaction.session !== null &&
      interaction.notes[STEP] === interaction.session.userId &&
      interaction.notes[KEPT] !== interaction.session.userId
        ? page(interaction, KEPT)
        : 'done',
    submit: async ({ session }) => ({ note: session?.userId ?? null }),
  })
}

function isDemand(missing: Requirement): boolean {
  return missing === DEMAND
}
