/**
 * A second factor: the code of an authenticator app. Asked of administrators, of who has set one up, and where a client asks for it by
 * `acr_values`; who has none yet sets it up on the way.
 */
import type { FastifyInstance } from 'fastify'
import { OAuthError, Type, type Interaction, type StepPage } from 'latchkey'
import { newSecret, stepOf } from './totp.ts'

declare module 'latchkey' {
  interface Pages {
    'second-factor': Form & { secret: string | null; error: string | null }
    'second-factor-account': Form & { isOn: boolean; done: boolean }
  }
}

interface Form {
  action: string
  csrfToken: string
}

/** Kept with the user, encrypted. */
interface Totp {
  secret: string
  /** The step of the code that was used last: none is used twice. */
  last: number
}

const ID = 'totp'
const NAME = 'second-factor'
const PATH = '/second-factor'
const REQUIRED = { acr: ['2'] }

export default async function secondFactor(fastify: FastifyInstance): Promise<void> {
  const { oauth, pages } = fastify
  const factors = oauth.users.records<Totp>('totp', { sealed: true, factor: true })
  /** The secret that a page shows who sets one up, until its first code has come. */
  const offers = oauth.artifacts<{ secret: string }>('totp-offer', { lifetime: 3600, ofUsers: true })
  const guessing = oauth.throttle('totp')
  await pages.add('second-factor', new URL('factor.eta', import.meta.url), { kind: 'interaction' })
  await pages.add('second-factor-account', new URL('account.eta', import.meta.url))

  oauth.add('assurance', {
    name: NAME,
    async require({ user, request: { parameters } }) {
      // OpenID Connect Core §5.5.1.1: a wish is no reason to refuse where no page may be shown.
      const isSilent = (parameters['prompt'] as readonly string[] | undefined)?.includes('none')
      const wished = isSilent === true ? [] : String(parameters['acr_values'] ?? '').split(' ')
      const isRequired = wished.includes('2') || user.roles.includes('admin')
      return isRequired || (await factors.has(user.id)) ? REQUIRED : null
    },
  })

  /** One secret for each page, however often it is opened. */
  async function offerOf(id: string, owner: string): Promise<string> {
    const offered = await offers.get(id)
    if (offered !== null) return offered.secret
    const secret = newSecret()
    // Taken meanwhile by the same page in another tab.
    await offers.put({ secret }, { handle: id, owner, most: 10 })
    return (await offers.get(id))?.secret ?? secret
  }

  async function page(
    { id, session }: Interaction,
    error: string | null = null,
    status = 200,
  ): Promise<StepPage> {
    const isOn = (await factors.get(session!.userId, ID)) !== null
    return { page: NAME, model: { secret: isOn ? null : await offerOf(id, session!.userId), error }, status }
  }

  /** Whether the code is right and was not used: it is from here on, over all processes. */
  async function spend({ id, session }: Interaction, code: string): Promise<boolean> {
    const { userId } = session!
    const had = await factors.get(userId, ID)
    const secret = had?.value.secret ?? (await offerOf(id, userId))
    const last = stepOf(secret, code)
    if (last === null) return false
    if (had === null) return factors.put(userId, ID, { secret, last })
    return last > had.value.last && (await factors.replace(userId, had, { secret, last }))
  }

  oauth.add('interactionStep', {
    name: NAME,
    phase: 'authenticate',
    required: 'login_required',
    reaches: REQUIRED,
    async run(interaction) {
      const isAsked = interaction.missing.some(({ acr }) => acr?.includes('2'))
      return interaction.session !== null && isAsked ? page(interaction) : 'done'
    },
    async submit(interaction, { code }, { request }) {
      try {
        const attempt = await guessing.attempt(interaction.session!.userId, request.ip)
        try {
          if (await spend(interaction, String(code ?? '').replaceAll(' ', ''))) {
            attempt.succeeded()
            return { note: {}, shown: { amr: ['otp', 'mfa'], acr: '2' } }
          }
          await attempt.failed()
        } finally {
          attempt.abandoned()
        }
      } catch (error) {
        if (!(error instanceof OAuthError) || error.status !== 429) throw error
        return page(interaction, 'There were too many tries. Please wait a few minutes.', 429)
      }
      return page(interaction, 'That code is not right, or was used already. Wait for the next one.', 403)
    },
  })

  if (!fastify.hasDecorator('account')) return
  const area = fastify.account.addSection({
    text: 'Second factor',
    path: PATH,
    about: async (call) =>
      (await factors.get(area.sessionOf(call.request).userId, ID)) === null ? 'Off' : 'On',
  })
  area.serve({
    path: `/account${PATH}`,
    query: Type.Object({ done: Type.Optional(Type.String()) }),
    form: Type.Object({}),
    async show({ done }, call) {
      const isOn = (await factors.get(area.sessionOf(call.request).userId, ID)) !== null
      return call.reply.page('second-factor-account', {
        ...area.target(call, PATH),
        isOn,
        done: done !== undefined,
      })
    },
    async submit(_form, call) {
      const { userId } = area.assertGenuine(call, PATH)
      const again = area.signInAgain(call, area.uri(PATH))
      if (again !== undefined) return again
      await factors.delete(userId, ID)
      return call.reply.redirect(area.uri(PATH, { done: 'yes' }), 303)
    },
  })
}
