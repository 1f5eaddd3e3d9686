/**
 * Sign-out, asked for by a client (OpenID Connect RP-Initiated Logout 1.0) or by the user. A valid `id_token_hint` of
 * the user who is signed in is enough; everybody else is asked. Only registered addresses are ever gone to.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Client } from '../../../src/doors/client.ts'
import type { BrowserCall, Session } from '../../../src/doors/interaction.ts'
import { ENCRYPTED_HINT, isEncrypted } from '../../../src/protocol/encryption.ts'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { message } from '../../../src/protocol/message.ts'
import { assertLengths } from '../../../src/protocol/parameters.ts'
import { withQuery } from '../../../src/protocol/redirect-uri.ts'
import { parseForm, type Wire } from '../../../src/protocol/wire.ts'
import type { IdTokenClaims } from '../../../src/services/tokens/own-jwt-verifier.ts'
import { refuseOtherMethods, withSlash } from '../../../src/http/methods.ts'
import { logFailure } from '../../../src/http/errors.ts'
import { acceptForms, formText, queryText } from '../../../src/http/forms.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { STEPS } from '../../browser/index.ts'
import { clientView } from '../../pages/client-view.ts'
import { sendErrorPage, showError } from '../../pages/error-page.ts'
import type { ClientView } from '../../pages/models.ts'
import { createDepartures } from './departures.ts'
import { createTold, NOBODY } from './told.ts'

interface EndSessionRequest {
  client: Client | null
  hint: IdTokenClaims | null
  /** Registered; null for our own page. */
  redirectUri: string | null
  state: string | undefined
}

/** Of another server, or of a key that is gone: the person may want to leave all the same. */
class UnknownHint extends OAuthError {
  constructor(hint: string) {
    const description = 'id_token_hint is not an ID token of this server'
    super('invalid_request', isEncrypted(hint) ? ENCRYPTED_HINT : description)
  }
}

/** What the page that asks sends back; the hint itself need not travel again. */
const CARRIED = ['client_id', 'post_logout_redirect_uri', 'state', 'ui_locales'] as const

async function endSession(fastify: FastifyInstance): Promise<void> {
  const { oauth, browser, pages } = fastify
  const { ownJwts, sessions, doors } = kernelOf(fastify)
  const { basePath } = oauth.config
  const action = `${basePath}/end-session`
  const toldOf = createTold(fastify)
  const departures = createDepartures(fastify)

  async function parse(wire: Wire): Promise<EndSessionRequest> {
    const text = (name: string): string | undefined => wire[name] as string | undefined
    const [jwt, clientId, redirectUri] = [
      text('id_token_hint'),
      text('client_id'),
      text('post_logout_redirect_uri'),
    ]
    const hint = jwt === undefined ? null : await ownJwts.verifyIdToken(jwt, { ignoreExpiry: true })
    if (jwt !== undefined && hint === null) throw new UnknownHint(jwt)
    const audience = hint === null ? undefined : [hint.aud].flat()
    if (clientId !== undefined && audience?.includes(clientId) === false)
      throw new OAuthError('invalid_request', 'id_token_hint was not issued to this client_id')
    const named = clientId ?? audience?.[0]
    const client = named === undefined ? null : await oauth.findClient(named)
    if (clientId !== undefined && client === null)
      throw new OAuthError('invalid_request', 'no app is registered under this client_id')
    // §3: with neither hint nor client_id, as of MSAL, nobody can say whose address it is, and it is not gone to.
    if (client === null) return { client, hint, redirectUri: null, state: undefined }
    assertRegistered(redirectUri, client)
    return { client, hint, redirectUri: redirectUri ?? null, state: text('state') }
  }

  /** Whether the hint names the user who is signed in, as the client knows them. */
  const isOf = ({ hint, client }: EndSessionRequest, session: Session): boolean =>
    hint !== null && client !== null && hint.sub === oauth.subjectOf(session.userId, client)

  /** Nobody is led to an app that nobody here has looked at unless they were signed in here, or it shows that they once were. */
  function reachable(asked: EndSessionRequest, session: Session | null, wire: Wire, call: BrowserCall) {
    const { client, hint } = asked
    const isKnown = client?.registrar === undefined || session !== null || hint !== null
    if (client === null || isKnown || departures.isOf(client, wire['signed_out'], call)) return asked
    call.request.log.info(
      { client: client.clientId },
      'sign-out does not lead back: nobody is signed in, and without id_token_hint nobody is led to an app that nobody has looked at',
    )
    return { ...asked, client: null, redirectUri: null }
  }

  async function signOut(asked: EndSessionRequest, session: Session | null, call: BrowserCall) {
    const told = session === null ? NOBODY : await toldOf(await sessions.end(session), session)
    await browser[STEPS].abandon(call)
    browser.forget(call)
    const elsewhere = session === null ? null : await addressElsewhere(asked, session, call)
    const { redirectUri, state } = asked
    if (told.frames.length > 0 && (elsewhere ?? redirectUri) !== null)
      return call.reply.page('signing-out', { ...told, next: elsewhere ?? addressOf(asked, call) })
    if (elsewhere !== null) return leadOn(elsewhere, call)
    if (redirectUri === null) return call.reply.page('signed-out', { homeUri: homeOf(asked.client), ...told })
    return call.reply.redirect(state === undefined ? redirectUri : withQuery(redirectUri, { state }), 303)
  }

  /** Where they go on as they asked, once they are signed out. */
  function addressOf({ client, redirectUri, state }: EndSessionRequest, call: BrowserCall): string {
    const mark = client?.registrar === undefined ? undefined : departures.markOf(client, call)
    const carried = {
      client_id: client?.clientId,
      post_logout_redirect_uri: redirectUri,
      state,
      signed_out: mark,
    }
    const known = Object.entries(carried).filter(
      (pair): pair is [string, string] => typeof pair[1] === 'string',
    )
    return withQuery(action, Object.fromEntries(known))
  }

  /** Where they are to be signed out as well; from there they come here again, without a session, and go on as they asked. */
  async function addressElsewhere(
    asked: EndSessionRequest,
    session: Session,
    call: BrowserCall,
  ): Promise<string | null> {
    for (const way of doors.all('signOutWay')) {
      const address = await way.leave(session, addressOf(asked, call), call)
      if (address !== null) return address
    }
    return null
  }

  /** Not as a redirect of a form: the policies of pages let none lead to another site. */
  function leadOn(address: string, { request, reply }: BrowserCall): FastifyReply {
    if (request.method !== 'POST') return reply.redirect(address, 303)
    void reply.header('refresh', `0;url=${address}`)
    return reply.page('page-message', {
      title: message('You are signed out here'),
      text: message('Going on to {host}, to sign out there as well.', { host: new URL(address).host }),
      primary: { href: address, text: message('Go on') },
    })
  }

  const homeOf = (client: Client | null): string | null =>
    (client === null ? null : viewOf(client).homeUri) ?? pages.places.start()

  async function ask(asked: EndSessionRequest, session: Session, wire: Wire, call: BrowserCall) {
    const fields = CARRIED.filter((name) => wire[name] !== undefined).map((name) => [
      name,
      wire[name] as string,
    ])
    const { client } = asked
    const user = await oauth.findUser(session.userId)
    return call.reply.page('sign-out', {
      action,
      csrfToken: browser.csrfToken(call, signOutPurpose(session)),
      client: client === null ? null : viewOf(client),
      user: user?.username ?? null,
      fields: Object.fromEntries(fields) as Record<string, string>,
    })
  }

  /** Nothing is done for such a request; what people see lets them do it themselves. */
  async function refuse(error: UnknownHint, call: BrowserCall): Promise<FastifyReply> {
    const session = await browser[STEPS].opened(call.request)
    if (session === null) throw error
    logFailure(error, call.request)
    return showError(error, call.reply, { offersSignOut: true })
  }

  async function handle(wire: Wire, call: BrowserCall): Promise<FastifyReply> {
    assertLengths(wire)
    fastify.language.ask(call.request, wire['ui_locales'])
    try {
      return await leave(await parse(wire), wire, call)
    } catch (error) {
      if (error instanceof UnknownHint) return refuse(error, call)
      throw error
    }
  }

  async function leave(asked: EndSessionRequest, wire: Wire, call: BrowserCall): Promise<FastifyReply> {
    if (asked.client === null && wire['post_logout_redirect_uri'] !== undefined)
      call.request.log.info(
        'sign-out does not lead back: without id_token_hint or client_id, nobody has registered its post_logout_redirect_uri',
      )
    // Also one of which a policy that came later finds a factor missing: it stands open at the apps all the same.
    const session = await browser[STEPS].opened(call.request)
    if (session === null || isOf(asked, session))
      return signOut(reachable(asked, session, wire, call), session, call)
    if (call.request.method !== 'POST' || wire['csrf_token'] === undefined)
      return ask(asked, session, wire, call)
    browser.assertGenuine(call, wire, signOutPurpose(session))
    return signOut(asked, session, call)
  }

  fastify.pages.name(async (call, { toLeave } = { toLeave: false }) => {
    const session = await (toLeave ? browser[STEPS].opened(call.request) : browser.session(call.request))
    const user = session === null ? null : await oauth.findUser(session.userId)
    if (session === null || user === null) return null
    const csrfToken = browser.csrfToken(call, signOutPurpose(session))
    return { name: user.username, signOut: { action, csrfToken } }
  })

  await acceptForms(fastify)
  fastify.setErrorHandler(sendErrorPage)
  for (const url of withSlash(fastify, '/end-session')) {
    fastify.get(url, async (request, reply) => handle(parseForm(queryText(request)), { request, reply }))
    fastify.post(url, async (request: FastifyRequest, reply) => {
      const text = formText(request)
      return browser.needsAnotherTry(request, text)
        ? reply.redirect(`${action}?${text}`, 303)
        : handle(parseForm(text), { request, reply })
    })
    refuseOtherMethods(fastify, url, ['PUT', 'PATCH', 'DELETE', 'OPTIONS'], 'GET, HEAD, POST')
  }

  oauth.extend('metadata', async () => ({ end_session_endpoint: `${oauth.issuer}/end-session` }))
}

/** §2.1: an address that is not registered is never gone to. */
function assertRegistered(redirectUri: string | undefined, client: Client): void {
  if (redirectUri === undefined) return
  const registered = (client.metadata['post_logout_redirect_uris'] ?? []) as readonly string[]
  if (!registered.includes(redirectUri))
    throw new OAuthError(
      'invalid_request',
      'the post_logout_redirect_uri is not registered for this client, to the letter',
    )
}

function viewOf(client: Client): ClientView {
  return clientView({ client, scopes: new Set(), resources: [], parameters: {} })
}

function signOutPurpose({ sid }: Session): string {
  return `sign-out ${sid}`
}

export default fp(endSession, {
  name: 'latchkey-end-session',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-language', 'latchkey-pages'],
  encapsulate: true,
})
