/**
 * Dynamic client registration (RFC 7591) for Latchkey, and its management (RFC 7592): an app registers by itself, with a token of
 * the operator's or as a stranger, and changes or removes its registration by a token that it got with it.
 */
import { createHmac, hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import { answer, type Bag, OAuthError, type OAuth, type OpenCall, type Registration, Type } from 'latchkey'

export const settings = Type.Object({
  REGISTRATION_TOKEN: Type.Optional(
    Type.String({
      minLength: 32,
      secret: true,
      description: 'what apps must show to register; without it, anybody may',
    }),
  ),
  REGISTRATION_MOST: Type.Integer({
    default: 10_000,
    minimum: 1,
    description: 'how many apps may have registered themselves',
  }),
  REGISTRATION_SCOPES: Type.Array(Type.String(), {
    default: [],
    description: 'scopes that they may have beside those of OpenID Connect',
  }),
})

/** Of one network: so many at once, and one more in so many seconds. */
const NEW = { failures: 20, recovery: 60 }
const PATH = '/register'

export default async function registration({ oauth }: { oauth: OAuth }): Promise<void> {
  const {
    REGISTRATION_TOKEN: initialToken,
    REGISTRATION_MOST: most,
    REGISTRATION_SCOPES: scopes,
  } = oauth.settings(settings)
  const clients = oauth.selfRegistration('registration', { most, scopes })
  const strangers = oauth.throttle('registration', { account: NEW, network: NEW })
  let key: Promise<KeyObject> | undefined

  /** Of one registration: a client_id that is registered anew some day has another. */
  async function tokenOf({ client_id: id, client_id_issued_at: issuedAt }: Registration): Promise<string> {
    key ??= oauth.secret('registration')
    return createHmac('sha256', await key)
      .update(`${issuedAt}\n${id}`)
      .digest('base64url')
  }

  /** What the token is of; the same refusal where there is no such client, so that nobody learns that. */
  async function authenticate(call: OpenCall): Promise<Registration> {
    const { client_id: id = '' } = call.path
    const found = await clients.find(id, bearerOf(call))
    const expected = found === null ? undefined : await tokenOf(found)
    if (found === null || !isRight(bearerOf(call), expected)) throw refused(call)
    return found
  }

  async function told(registered: Registration): Promise<Bag> {
    return {
      ...registered,
      registration_client_uri: `${oauth.issuer}${PATH}/${registered.client_id}`,
      registration_access_token: await tokenOf(registered),
    }
  }

  oauth.registerEndpoint({
    path: PATH,
    metadata: 'registration_endpoint',
    caller: 'anybody',
    body: 'json',
    cors: true,
    parameters: Type.Object({}),
    async handle(_parameters, call) {
      const isInvited = initialToken !== undefined && isRight(bearerOf(call), initialToken)
      if (!isInvited) {
        // Each counts, also of those who succeed: before anything is stored.
        const attempt = await strangers.attempt(null, call.request.ip)
        await attempt.failed()
        if (initialToken !== undefined) throw refused(call)
      }
      return answer({ status: 201, body: await told(await clients.create(call.body)) })
    },
  })

  const own = {
    path: `${PATH}/:client_id`,
    caller: 'anybody',
    body: 'json',
    cors: true,
    parameters: Type.Object({}),
  } as const
  oauth.registerEndpoint({
    ...own,
    method: 'GET',
    handle: async (_parameters, call) => told(await authenticate(call)),
  })
  oauth.registerEndpoint({
    ...own,
    method: 'PUT',
    async handle(_parameters, call) {
      const { client_id: id } = await authenticate(call)
      // With what was shown, so that a secret is told again to who lost the answer.
      return told(await clients.replace(id, call.body, undefined, bearerOf(call)))
    },
  })
  oauth.registerEndpoint({
    ...own,
    method: 'DELETE',
    async handle(_parameters, call) {
      const { client_id: id } = await authenticate(call)
      await clients.delete(id)
      return answer({ status: 204 })
    },
  })
}

function bearerOf({ request }: OpenCall): string | undefined {
  return /^Bearer +([\w.~+/-]+=*)$/i.exec(request.headers.authorization ?? '')?.[1]
}

function isRight(shown: string | undefined, expected: string | undefined): boolean {
  const [one, other] = [shown ?? '', expected ?? ''].map((text) => hash('sha256', text, 'buffer'))
  return shown !== undefined && expected !== undefined && timingSafeEqual(one!, other!)
}

/** RFC 6750 §3: without a token, the challenge names no error. */
function refused(call: OpenCall): OAuthError {
  const error = bearerOf(call) === undefined ? '' : ', error="invalid_token"'
  return new OAuthError('invalid_token', 'the token is not good for this', {
    headers: { 'www-authenticate': `Bearer realm="registration"${error}` },
  })
}
