/**
 * The page of the one-time link for the first administrator: GET shows the form and spends nothing, POST makes the
 * account. The link itself is printed where the server was started: `src/serving/welcome.ts`, `setup-link`.
 */
import { message, type Words } from '../src/protocol/message.ts'
import type { FastifyInstance, FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import type { BrowserCall } from '../src/doors/interaction.ts'
import { OAuthError } from '../src/protocol/errors.ts'
import { isMailAddress, NO_MAIL_ADDRESS } from '../src/protocol/mail-address.ts'
import { assertLengths, compileParameters } from '../src/protocol/parameters.ts'
import { Type } from '../src/protocol/schema.ts'
import { parseForm } from '../src/protocol/wire.ts'
import { refuseOtherMethods, withSlash } from '../src/http/methods.ts'
import { acceptForms, formText, queryText } from '../src/http/forms.ts'
import type { Notice } from './pages/models.ts'
import { ExplainedError, sendErrorPage } from './pages/error-page.ts'
import { isTypedAgain, keepingTyped, LOOK_AGAIN } from './pages/expired-form.ts'
import { problemsIn } from './pages/words.ts'
import { PASSWORD_ACR, PASSWORD_AMR } from './password/check.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import { waitFor } from '../src/http/wait.ts'

const Fields = Type.Partial(
  Type.Object({
    token: Type.String(),
    username: Type.String(),
    name: Type.String(),
    email: Type.String(),
    password: Type.String(),
  }),
)
const FIELDS = ['username', 'name', 'email', 'password']
const PURPOSE = 'setup'
const NO_LONGER_GOOD = {
  words: {
    title: message('This link is no longer good'),
    text: message(
      'It was used, or is more than 30 minutes old. Whoever runs this server gets a new one with {command}, or by starting it again.',
      { command: 'latchkey setup-link' },
    ),
  },
}
const THERE_IS_ONE = {
  words: {
    title: message('There is an administrator already'),
    text: message('This page makes the first one, and no other. Ask an administrator to invite you.'),
  },
}

async function setup(fastify: FastifyInstance): Promise<void> {
  const { oauth, browser, pages } = fastify
  const { firstAdministrator, config } = kernelOf(fastify)
  const minLength = config.OIDC_PASSWORD_MIN_LENGTH
  const { basePath } = oauth.config
  const parse = compileParameters(Fields)
  const throttle = oauth.throttle(PURPOSE)

  function show(
    call: BrowserCall,
    { token = '', username = '', name = '', email = '' }: Record<string, string | undefined>,
    errors: Readonly<Record<string, Words>> = {},
    {
      status = Object.keys(errors).length > 0 ? 400 : 200,
      notice = null,
    }: { status?: number; notice?: Notice | null } = {},
  ): FastifyReply {
    const model = {
      action: `${basePath}/setup`,
      csrfToken: browser.csrfToken(call, PURPOSE),
      token,
      values: { username, name, email },
      errors,
      notice,
      passwordMinLength: minLength,
    }
    return call.reply.page('setup', model, { status })
  }

  /** An administrator's password has no short form in any start. */
  function problemOf(fields: Record<string, string | undefined>): Record<string, Words> {
    const { username, email = '', password = '' } = fields
    return {
      ...(username === undefined ? { username: message('Choose a user name.') } : {}),
      ...(email !== '' && !isMailAddress(email) ? { email: NO_MAIL_ADDRESS } : {}),
      ...(password.length < minLength
        ? { password: message('This is too short: choose at least {minLength} characters.', { minLength }) }
        : {}),
    }
  }

  const observeRefusal = (): void =>
    oauth.audit.observe({ type: 'user.link_refused', details: { link: PURPOSE } })

  /** Throws 429 and 503 for who has to wait. */
  async function create(
    call: BrowserCall,
    fields: Record<string, string | undefined>,
  ): Promise<FastifyReply> {
    const attempt = await throttle.attempt(null, call.request.ip)
    try {
      const { token = '', username, name, email, password } = fields
      const user = await firstAdministrator.create(token, { username, name, email, password })
      attempt.succeeded()
      await browser.signIn(call, { user, amr: PASSWORD_AMR, acr: PASSWORD_ACR })
      const toAdmin = fastify.hasPlugin('latchkey-admin')
      return call.reply.page('setup-done', {
        username: user.username,
        continueUri: toAdmin ? `${basePath}/admin` : (pages.places.start() ?? `${basePath}/`),
        continueText: toAdmin ? message('Go to the administration') : message('Continue'),
      })
    } catch (error) {
      if (!(error instanceof OAuthError) || error.status >= 500) throw error
      if (error.code === 'access_denied') {
        observeRefusal()
        await attempt.failed()
      }
      return show(
        call,
        fields,
        problemsIn(error, (member) => FIELDS.find((field) => field === member), 'form'),
      )
    } finally {
      attempt.abandoned()
    }
  }

  await acceptForms(fastify)
  fastify.setErrorHandler(sendErrorPage)
  for (const url of withSlash(fastify, '/setup')) {
    fastify.get(url, async (request, reply) => {
      if (await oauth.users.hasRole('admin'))
        throw new ExplainedError('access_denied', 'there is an administrator already', THERE_IS_ONE, {
          status: 404,
        })
      const { token } = parse(parseForm(queryText(request)))
      if (token !== undefined && !(await firstAdministrator.isInvited(token))) {
        observeRefusal()
        throw new ExplainedError('access_denied', 'this link has been used, or is too old', NO_LONGER_GOOD)
      }
      return show({ request, reply }, { token })
    })
    fastify.post(url, async (request, reply) => {
      const call = { request, reply }
      const wire = parseForm(formText(request))
      assertLengths(wire)
      const fields = parse(wire)
      if (isTypedAgain(wire)) {
        browser.assertFromHere(call)
        return show(call, fields, {}, { notice: LOOK_AGAIN })
      }
      await keepingTyped(`${basePath}/setup`, wire, async () => browser.assertGenuine(call, wire, PURPOSE))
      const problems = problemOf(fields)
      if (Object.keys(problems).length > 0) return show(call, fields, problems)
      return create(call, fields).catch((error: unknown) => {
        const { advice, status } = waitFor(error, call)
        return show(call, fields, { form: advice }, { status })
      })
    })
    refuseOtherMethods(fastify, url, ['PUT', 'PATCH', 'DELETE', 'OPTIONS'], 'GET, HEAD, POST')
  }
}

export default fp(setup, {
  name: 'latchkey-setup',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-pages'],
  encapsulate: true,
})
