/**
 * Every place of the sources from which something is asked of another machine: through the guarded way out, each with how it is brought to ask an
 * address, or beside it, each with why. `outbound.test.ts` finds them in the sources, so one that is new needs its row here.
 */
import type { Outcome, Ground } from './ground.ts'
import { isThere } from '../../support/left-out.ts'

/** Brings the server to ask this address, as somebody would who wants it to, and says how it ended. */
export type Ask = (ground: Ground, url: string) => Promise<Outcome>

export const GUARDED: Readonly<Record<string, Ask>> = {
  'plugins/client-documents/reading.ts': (on, url) => on.authorize({ client_id: url }),
  'plugins/global-token-revocation/vouchers.ts': (on, url) => on.voucher(url),
  'plugins/requests/request-downloads.ts': async (on, url) => {
    const client = await on.client({ request_uris: [url] })
    return on.authorize({ client_id: client, request_uri: url })
  },
  'plugins/shared-signals/pushing.ts': (on, url) => on.push(url),
  'plugins/sign-out/backchannel-logout.ts': async (on, url) => {
    const client = await on.client({ backchannel_logout_uri: url })
    return on.deliver('backchannel-logout', { client, user: on.user })
  },
  'plugins/subject-types.ts': (on, url) =>
    on.attempt(() => on.client({ subject_type: 'pairwise', sector_identifier_uri: url })),
  'plugins/token/grants/ciba/ping.ts': async (on, url) => on.ping(url),
  'plugins/upstreams/oauth.ts': (on, url) => on.userinfo(url),
  'plugins/upstreams/outbound.ts': (on, url) => on.upstream(url),
  'src/doctor/client/step.ts': (on, url) => on.walk(url),
  'src/doctor/client/walk.ts': (on, url) => on.walk(url),
  'src/doctor/others.ts': (on, url) => on.examine(url),
  // Keys of clients, of who signs software statements, and of trusted issuers: all by one door.
  'src/services/clients/client-keys.ts': async (on, url) => {
    const client = await on.client({
      token_endpoint_auth_method: 'private_key_jwt',
      grant_types: ['client_credentials'],
      scope: ['read_books'],
      jwks_uri: url,
    })
    return on.assertion(client)
  },
  'src/services/users/breached-passwords.ts': (on, url) => on.breached(url),
}

/** Asked by nobody but the operator, or of nobody whom others chose. */
export const BESIDE: Readonly<Record<string, string>> = {
  'plugins/webhooks/posting.ts': 'addresses that the operator names in WEBHOOKS, by the guard all the same',
  'plugins/ldap/connection.ts': 'the directory that the operator names in LDAP_URL',
  'plugins/mail/smtp.ts': 'the mail server that the operator names in SMTP_URL',
  'plugins/require-scope/fetch-json.ts': 'the issuer that an API was told to trust, by whoever wrote it',
  'plugins/require-scope/key-cache.ts': 'the same, by fetch-json.ts',
  'src/commands/served.ts': 'a command of the operator, to the issuer of the settings',
  'plugins/admin/clients/app-proofs.ts': 'code that developers of apps are shown',
  'src/doctor/issuer.ts': 'a command of the operator, to the issuer of the settings',
  'src/services/database/embedded-postgres/connection.ts':
    'the PostgreSQL that this server started, at its socket',
  'src/services/outbound/exchange.ts': 'what the guard itself connects with',
  'src/services/outbound/resolver.ts': 'what the guard itself resolves names with',
  'src/store/backend.ts': 'the database that the operator names in DATABASE_URL',
  'src/store/connections.ts': 'the database that the operator names in DATABASE_URL',
  'src/store/distribution/shards.ts': 'the databases that the operator names to `distribute`',
}

/** Without which nothing is asked there. */
const NEEDS: Readonly<Record<string, string>> = {
  'plugins/client-documents/reading.ts': 'latchkey-client-documents',
  'plugins/shared-signals/pushing.ts': 'latchkey-shared-signals',
  'plugins/token/grants/ciba/ping.ts': 'latchkey-ciba',
  'plugins/global-token-revocation/vouchers.ts': 'latchkey-upstreams',
}

/** Those of the guarded that the servers of this run have. */
export const WAYS = Object.entries(GUARDED).filter(([file]) =>
  isThere(...(file in NEEDS ? [NEEDS[file]!] : [])),
)
