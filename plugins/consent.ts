/**
 * The interaction step `consent`: what the user allows the client. Remembered, and asked again for more; never
 * remembered where the client cannot be told from another app on the same device (RFC 8252 §8.6). Scopes that are optional for
 * the client are boxes, which people may untick: then they are not granted.
 */
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { ApprovalRequest } from '../src/doors/approval.ts'
import type { Client } from '../src/doors/client.ts'
import type { Interaction, StepPage } from '../src/doors/interaction.ts'
import { metadataError, OAuthError } from '../src/protocol/errors.ts'
import { message, type Words, reason } from '../src/protocol/message.ts'
import { isLoopbackHost, webHostOf } from '../src/protocol/redirect-uri.ts'
import { Type } from '../src/protocol/schema.ts'
import { OPENID_SCOPES } from '../src/protocol/scope.ts'
import type { Wire } from '../src/protocol/wire.ts'
import { optionalScopes } from '../src/services/users/consents.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import { isForOne } from './interaction/is-for-one.ts'
import { promptsOf } from './interaction/prompt.ts'
import { NOT_YOU } from './interaction/ways-out.ts'
import { describeScopes } from './pages/scope-words.ts'

const CONSENT = 'consent'
const BY_ITSELF = message(
  'This app has registered itself: nobody here has checked whose it is. Go on only if you know it.',
)
const BY_ADDRESS = message(
  'This app is not registered here: only its address is known, and nobody here has checked whose it is. Go on only if you know it.',
)
/** Of who has read another page than the one that there is now. */
const CHANGED = message('What you can leave out has changed meanwhile. Please look at it once more.')
/** The field that says which boxes the page had, ticked or not. */
const BOXES = 'boxes'

/** What was allowed on the page, and in which session. */
interface Note {
  readonly sid: string
  readonly consent: string
  /** Scopes that were left out. */
  readonly declined?: readonly string[]
}

/** What covers a request. */
interface Cover {
  readonly consent: string
  readonly declined: ReadonlySet<string>
}

async function consent(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { consents } = kernelOf(fastify)
  oauth.extendClientMetadata(Type.Partial(Type.Object({ require_consent: Type.Boolean() })), (metadata) => {
    const redirectUris = (metadata['redirect_uris'] ?? []) as readonly string[]
    if (metadata['require_consent'] === false && redirectUris.some(isOnThisDevice))
      throw metadataError(
        'require_consent',
        reason('must not be false for a client with a redirect to the device itself'),
      )
    assertOptional(metadata)
  })

  /** The consent that covers the request; null where nobody has to be asked, undefined where somebody has to. */
  async function findConsent({ request, session, notes }: Interaction): Promise<Cover | null | undefined> {
    const noted = notes[CONSENT] as Note | undefined
    if (noted !== undefined && noted.sid === session?.sid)
      return { consent: noted.consent, declined: new Set(noted.declined) }
    const { client } = request
    if (promptsOf(request).includes('consent') || isImpersonable(request)) return undefined
    if (client.metadata['require_consent'] === false) return null
    const { id, isNew, declined } = await consents.compare(session!.userId, request)
    return isNew || id === undefined ? undefined : { consent: id, declined }
  }

  async function page(
    { request, session, formFor }: Interaction,
    more: readonly Words[] = [],
  ): Promise<StepPage> {
    const { client, redirectUri = null, notices = [], bindingMessage = null } = request
    const user = await oauth.users.get(session!.userId)
    const { newScopes, declined, lines } = await consents.compare(user.id, request)
    const scopes = await describeScopes(oauth, request.scopes)
    const optional = optionalScopes(request)
    const model = {
      user: { username: user.username, name: (user.claims['name'] as string | undefined) ?? null },
      notYou: isForOne(request) ? null : formFor(CONSENT, NOT_YOU),
      redirectHost: redirectUri === null ? null : hostOf(redirectUri),
      onThisDevice: redirectUri !== null && isOnThisDevice(redirectUri),
      notices: [...more, ...strangeness(client), ...notices],
      bindingMessage,
      scopes: scopes.map((scope) => ({
        ...scope,
        isNew: newScopes.has(scope.name) || declined.has(scope.name),
        box: optional.has(scope.name) ? { name: boxOf(scope.name), ticked: !declined.has(scope.name) } : null,
      })),
      details: {
        clientId: client.clientId,
        redirectUri,
        registeredAt: client.unregistered === undefined ? new Date(client.registeredAt) : null,
      },
      lines,
    }
    return { page: CONSENT, model }
  }

  function observeDenial({ request: { client }, session }: Interaction): void {
    const { userId: user } = session!
    oauth.audit.observe({ type: 'consent.denied', user, client: client.clientId, details: {} })
  }

  oauth.add('interactionStep', {
    name: CONSENT,
    required: 'consent_required',
    async run(interaction) {
      // Nobody is there yet to be asked: a step after this one may sign in.
      if (interaction.session === null) return 'done'
      const cover = await findConsent(interaction)
      if (cover === undefined) return page(interaction)
      return cover === null ? 'done' : { granted: { consent: cover.consent }, declined: cover.declined }
    },
    async submit(interaction, wire, _call, part) {
      const { request, session } = interaction
      const { decision } = wire
      if (part === NOT_YOU && !isForOne(request)) return { someoneElse: true }
      if (decision === 'deny') {
        observeDenial(interaction)
        throw new OAuthError('access_denied', 'the user denied the request')
      }
      if (decision !== 'allow') return { ...(await page(interaction)), status: 400 }
      if (!isUpToDate(wire, request)) return { ...(await page(interaction, [CHANGED])), status: 400 }
      const declined = declinedIn(wire, request)
      let given: string
      try {
        given = await consents.remember(session!.userId, request, declined)
      } catch (error) {
        // Nothing is left of it.
        if (error instanceof OAuthError && error.code === 'access_denied') observeDenial(interaction)
        throw error
      }
      const note: Note = { sid: session!.sid, consent: given, declined: [...declined] }
      return { note }
    },
    // Another tab was answered meanwhile: what this page says counts for its own request.
    async changes(interaction, wire, part) {
      const { request, session, notes } = interaction
      const isNoted = (notes[CONSENT] as Note | undefined)?.sid === session?.sid
      if (session === null || isNoted || part !== undefined || wire['decision'] !== 'allow') return false
      if (optionalScopes(request).size === 0) return false
      const cover = await findConsent(interaction)
      if (cover === undefined || cover === null) return false
      return !isUpToDate(wire, request) || !isDeepStrictEqual(declinedIn(wire, request), cover.declined)
    },
  })
}

function strangeness({ registrar, unregistered }: Client): Words[] {
  if (unregistered !== undefined) return [BY_ADDRESS]
  return registrar === undefined ? [] : [BY_ITSELF]
}

/** The field of a scope that may be left out. */
function boxOf(scope: string): string {
  return `scope:${scope}`
}

/** Boxes that are not ticked are not sent; what else is sent says nothing. */
function declinedIn(wire: Wire, request: ApprovalRequest): ReadonlySet<string> {
  return new Set([...optionalScopes(request)].filter((scope) => wire[boxOf(scope)] === undefined))
}

/** Whether its page had boxes for those scopes that may be left out now: else it says nothing of one, or more than counts. */
function isUpToDate(wire: Wire, request: ApprovalRequest): boolean {
  const shown = new Set(
    String(wire[BOXES] ?? '')
      .split(' ')
      .filter((one) => one !== ''),
  )
  return isDeepStrictEqual(shown, new Set(optionalScopes(request)))
}

/** Without `openid`, the request would be another one (OpenID Connect Core §3.1.2.1). */
function assertOptional({ optional_scopes: optional, scope }: Readonly<Record<string, unknown>>): void {
  const own = new Set(scope as readonly string[] | undefined)
  for (const name of (optional ?? []) as readonly string[])
    if (name === 'openid' || !(OPENID_SCOPES.has(name) || own.has(name)))
      throw metadataError(
        'optional_scopes',
        reason('must hold scopes that the client may ask for, and not openid'),
      )
}

/**
 * Whether any app on the user's device could have sent this request in the client's name: one without credentials,
 * answered at a scheme of its own or at a port that was not registered.
 */
function isImpersonable({ client, redirectUri }: ApprovalRequest): boolean {
  return (
    client.isPublic() &&
    redirectUri !== undefined &&
    isOnThisDevice(redirectUri) &&
    !isExact(client, redirectUri)
  )
}

/**
 * A web address that is registered to the letter, port included, as of a single-page app under development. Without a port it is that of
 * an app that takes any (RFC 8252 §7.3), also where this one takes none.
 */
function isExact({ metadata }: Client, redirectUri: string): boolean {
  const registered = metadata['redirect_uris'] as readonly string[]
  return (
    metadata['application_type'] !== 'native' &&
    /^https?:\/\/[^/?]*:\d+(?:[/?]|$)/.test(redirectUri) &&
    registered.includes(redirectUri)
  )
}

/** Loopback, or an app's own scheme. */
function isOnThisDevice(uri: string): boolean {
  if (!URL.canParse(uri)) return false
  const { protocol, hostname } = new URL(uri)
  return !/^https?:$/.test(protocol) || isLoopbackHost(hostname)
}

function hostOf(uri: string): string {
  return webHostOf(uri) ?? URL.parse(uri)?.protocol ?? ''
}

export default fp(consent, {
  name: 'latchkey-consent',
  dependencies: ['latchkey-oauth', 'latchkey-interaction'],
})
