/** A server with all that asks others, and what brings each of it to do so. */
import { createVouchers } from '../../../plugins/global-token-revocation/vouchers.ts'
import { createProvider } from '../../../plugins/upstreams/speaking.ts'
import { walkClient } from '../../../src/doctor/client/walk.ts'
import { examineOthers } from '../../../src/doctor/others.ts'
import type { Bag } from '../../../src/protocol/bag.ts'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { createIsBreached } from '../../../src/services/users/breached-passwords.ts'
import { approve, ask, CALL_CENTRE, CIBA_SEED, CIBA_SETTINGS } from '../../support/ciba.ts'
import { askWith, assertionOf, createAssertionKey } from '../../support/client-assertions.ts'
import { vouch } from '../../support/global-token-revocation.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, REDIRECT_URI } from '../../support/sign-in.ts'
import { createUserAgent } from '../../support/user-agent.ts'
import { isThere } from '../../support/left-out.ts'
import { PUSH } from '../../support/shared-signals.ts'

/** How it ended for whoever brought it about. */
export interface Outcome {
  /** Of HTTP, where it was asked by HTTP; 400 for an error of the protocol. */
  readonly status: number
  readonly says: string
}

export type Ground = Awaited<ReturnType<typeof startGround>>

/** `allowed` are origins that may be asked. */
export async function startGround(allowed: readonly string[]) {
  const pinged = { client_id: 'pinged', client_secret: CALL_CENTRE.client_secret, grant_types: CALL_CENTRE.grant_types, scope: [...CALL_CENTRE.scope, 'ssf.manage'], backchannel_token_delivery_mode: 'ping', backchannel_client_notification_endpoint: 'https://app.example/ping' }
  const tokens = await startReceiver((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"access_token":"a","token_type":"bearer"}'),
  )
  const token_endpoint = `http://127.0.0.1:${tokens.port}`
  const settings = { ...CIBA_SETTINGS, OIDC_CLIENT_METADATA_DOCUMENTS: 'any', OIDC_SHARED_SIGNALS: 'on', UNSAFE_OUTBOUND_ORIGINS: [...allowed, token_endpoint].join(',') }
  const server = await startServer(settings, { seed: { ...CIBA_SEED, clients: [...CIBA_SEED.clients, pinged] } })
  const { oauth } = server.server
  const { doors, database, config, trustedIssuers, upstreams } = kernelOf(server.server)
  const { log } = server.server
  const { id: user } = (await oauth.users.find(ALICE.username))!
  const provider = createProvider(server.server)
  const vouchers = createVouchers(server.server, [server.url])
  const key = await createAssertionKey()
  const told: { address: string } = { address: '' }
  const resource = await startReceiver((_request, response) =>
    response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${told.address}"` }).end(),
  )
  const request = isThere('latchkey-ciba') ? await approved() : ''

  /** What the client is pinged of. */
  async function approved(): Promise<string> {
    await approve(server, await ask(server, { client_notification_token: 'n'.repeat(43) }, pinged))
    const [row] = await server.database.query<{ details: { request: string } }>(`select details from audit_events where type = 'ciba.allowed'`)
    return row!.details.request
  }

  /** What a door throws is told to nobody, and put off; what is no error of ours is a fault. */
  async function attempt(work: () => Promise<unknown>): Promise<Outcome> {
    try {
      await work()
      return { status: 200, says: '' }
    } catch (error) {
      return { status: error instanceof OAuthError ? error.status : 400, says: String(error) }
    }
  }

  const ground = {
    server,
    user,
    attempt,
    async client(members: Bag): Promise<string> {
      const all = { redirect_uris: [REDIRECT_URI], ...members }
      return (await oauth.clients.create(all)).client_id!
    },
    async authorize(parameters: Record<string, string>): Promise<Outcome> {
      const page = await createUserAgent(server.url).get(authorizationUrl(server, parameters))
      return { status: page.status, says: page.body }
    },
    async deliver(kind: string, payload: Bag): Promise<Outcome> {
      const delivery = doors.owners('delivery').get(kind)!
      return attempt(async () => delivery.deliver(payload, { id: 'one', attempt: 1, enqueuedAt: Date.now() }))
    },
    async ping(backchannel_client_notification_endpoint: string): Promise<Outcome> {
      await oauth.clients.update('pinged', { backchannel_client_notification_endpoint })
      return ground.deliver('ciba-ping', { client: 'pinged', request })
    },
    /** One event, to the address of a stream. */
    async push(endpointUrl: string): Promise<Outcome> {
      const { streams } = server.server.sharedSignals
      const delivery = { method: PUSH, endpointUrl } as const
      const { id } = (await streams.find('pinged')) ?? (await streams.create('pinged', { delivery }))
      await streams.change('pinged', id, (stream) => ({ ...stream, delivery }))
      await server.database.query(`insert into security_events (stream, jti, claims) values ('${id}', 'one', '{}')`)
      const outcome = await ground.deliver('security-events', { client: 'pinged', stream: id })
      await server.database.query('delete from security_events')
      return outcome
    },
    upstream: async (issuer: string) =>
      attempt(async () =>
        provider.authorizationUrl({ id: 'corp', issuer, client_id: 'us', secret: () => undefined }, { parameters: {} } as never),
      ),
    /** By a JWT in the name of an upstream that has this issuer. */
    async voucher(issuer: string): Promise<Outcome> {
      await upstreams.save({ id: 'voucher', issuer, client_id: 'us', client_secret: 'x' })
      const jwt = await vouch({ issuer, key }, 'us', server.url)
      return attempt(async () => vouchers.read(jwt))
    },
    /** By OAuth 2.0 alone, once the code is exchanged. */
    async userinfo(userinfo_endpoint: string): Promise<Outcome> {
      const registered = { id: 'plain', kind: 'oauth2', issuer: 'https://code.example', client_id: 'us', token_endpoint, userinfo_endpoint, authorization_endpoint: 'https://code.example/authorize' } as const
      const checks = { state: 's', nonce: '', verifier: 'v'.repeat(43) }
      return attempt(async () => provider.identify({ ...registered, secret: () => undefined }, 'code=c&state=s', checks))
    },
    async walk(address: string): Promise<Outcome> {
      told.address = address
      const found = await walkClient(server.settings, `http://127.0.0.1:${resource.port}/api`, async () => {})
      return { status: 200, says: JSON.stringify(found) }
    },
    async examine(jwks_uri: string): Promise<Outcome> {
      const issuer = 'https://login.example'
      await trustedIssuers.save({ issuer, jwks_uri })
      const found = await examineOthers(database, config)
      await trustedIssuers.delete(issuer)
      return { status: 200, says: JSON.stringify(found) }
    },
    async assertion(client: string): Promise<Outcome> {
      const { status, error_description: says = '' } = await askWith(await assertionOf(key, client, server.url), server)
      return { status, says }
    },
    breached: async (setting: string) =>
      attempt(async () => createIsBreached({ setting, fetch: oauth.fetch, log })('a password')),
  }
  return ground
} // prettier-ignore
