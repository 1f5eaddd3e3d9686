/**
 * Clients that register by themselves: what of their metadata they may say, and what they get where they do not say it
 * (docs/adr/0047). Storing it is `client-changes.ts`, as for all clients; who may come is for the plugin whose door it is.
 */
import type { EntityManager } from '@mikro-orm/postgresql'
import { randomUUID } from 'node:crypto'
import { ConfigError } from '../../config.ts'
import { Client } from '../../entities/client.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type {
  Registration,
  SelfRegistration,
  SelfRegistrationAllowance,
  SelfRegistrationOptions,
} from '../../doors/self-registration.ts'
import { assertShape, BOOLEAN, maybe, TEXTS, type Shape } from '../../doors/shapes.ts'
import { toMetadata, type StoredClient } from '../../protocol/stored-client.ts'
import { OAuthError, metadataError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/json.ts'
import { findClientRow, statements } from '../../store/clients.ts'
import type { Database } from '../../store/database.ts'
import { takeTurn } from '../../store/registration-turns.ts'
import { actAs } from '../audit/origin.ts'
import { TOKEN_INTROSPECTION } from './served-client.ts'
import { unknownClient, type ClientChanges, type WantedClient } from './client-changes.ts'
import { type ClientFinder, lockWithSecrets } from './client-finder.ts'
import type { ClientPolicies } from './client-policies.ts'
import { clientSecretOf, isUsable, type ClientSecrets, type StoredSecret } from './client-secrets.ts'
import type { KeyedHash } from '../registration/keyed-hash.ts'
import type { ApplyStatement } from '../registration/software-statements.ts'
import { assertKnownAlike } from './known-alike.ts'
import type { ParseOpenMetadata } from './open-metadata.ts'

interface SelfRegistrationServices {
  database: Database
  doors: DoorRegistry
  parse: ParseOpenMetadata
  changes: ClientChanges
  finder: Pick<ClientFinder, 'hasSecret'>
  secrets: ClientSecrets
  keyed: KeyedHash
  policies: ClientPolicies
  applyStatement: ApplyStatement
}

const OPTIONS: Shape<SelfRegistrationOptions> = {
  most: { is: Number.isSafeInteger, words: 'a whole number' },
  scopes: maybe(TEXTS),
  growingScope: maybe(BOOLEAN),
  grantTypes: maybe(TEXTS),
  redirectHosts: maybe(TEXTS),
}

/** `name` is the door's own. Throws `ConfigError` where it is taken, or the options give too much. */
export type OpenSelfRegistration = (name: string, options: SelfRegistrationOptions) => SelfRegistration

/** The secret of a client of this method, in the row with this id: the same for whoever asks again. */
type SecretFor = (method: string | null | undefined, id: string) => Promise<string>

/**
 * With what is stored beside the client, all or nothing; `along` may run again.
 * @internal
 */
export interface OwnSelfRegistration extends SelfRegistration {
  create(
    metadata: unknown,
    allowance?: SelfRegistrationAllowance,
    along?: (em: EntityManager, clientId: string) => Promise<void>,
  ): Promise<Registration>
  /** Told with its secret where that is what `shown` gives: by an answer that was lost, nobody was told of it. */
  find(clientId: string, shown?: string | SecretFor): Promise<Registration | null>
  /** `shown` gives what it has from now on where it had none that fits, by default a new one each time. */
  replace(
    clientId: string,
    metadata: unknown,
    allowance?: SelfRegistrationAllowance,
    shown?: string | SecretFor,
  ): Promise<Registration>
}

/** @internal */
export type OpenOwnSelfRegistration = (name: string, options: SelfRegistrationOptions) => OwnSelfRegistration

/** @internal */
export function createSelfRegistrations(services: SelfRegistrationServices): OpenOwnSelfRegistration {
  return (name, options) => {
    services.doors.own('self-registration', name)
    // Who writes without types may leave it out, and then anything would be fewer.
    if (!Number.isSafeInteger((options as Partial<SelfRegistrationOptions> | undefined)?.most))
      throw new ConfigError(
        `The self-registration ${name} must say how many clients it may make: oauth.selfRegistration('${name}', { most: 100 }).`,
      )
    assertShape(`self-registration ${name}`, OPTIONS, options)
    if (options.scopes?.includes(TOKEN_INTROSPECTION))
      throw new ConfigError(
        `The self-registration ${name} must not give ${TOKEN_INTROSPECTION}: it is power over the tokens of others.`,
      )
    return createSelfRegistration(name, options, services)
  }
}

function createSelfRegistration(
  registrar: string,
  options: SelfRegistrationOptions,
  { database, parse, changes, finder, secrets, keyed, policies, applyStatement }: SelfRegistrationServices,
): OwnSelfRegistration {
  /** One that nobody can ask for again, unless something was shown that it follows from. */
  function secretFrom(clientId: string, shown: string | SecretFor | undefined): SecretFor {
    if (typeof shown === 'function') return shown
    if (shown !== undefined && (typeof shown !== 'string' || shown === ''))
      throw new TypeError(`what an app of ${registrar} has shown must be a text`)
    if (shown !== undefined)
      return async (method, id) =>
        clientSecretOf(
          await keyed('sha512', ['client secret of', registrar, clientId, id, shown].join('\0')),
          method,
        )
    let made: string | undefined
    return async (method) => (made ??= secrets.generate(method))
  }

  async function find(clientId: string, shown?: string | SecretFor): Promise<Registration | null> {
    const secretFor = shown === undefined ? undefined : secretFrom(clientId, shown)
    const row = clientId === '' ? null : await findClientRow(database, clientId)
    if (row?.registrar !== registrar) return null
    const issuedAt = Math.floor(row.createdAt.getTime() / 1000)
    const registration = { ...onTheWire(row), client_id: clientId, client_id_issued_at: issuedAt }
    for (const stored of secretFor === undefined ? [] : row.secrets) {
      const secret = await secretFor!(row.tokenEndpointAuthMethod, stored.id)
      if ((await secrets.verify(secret, [stored], Date.now())) !== undefined)
        return { ...registration, client_secret: secret, client_secret_expires_at: 0 }
    }
    return registration
  }

  /** As it is now. */
  async function told(clientId: string, secretFor: SecretFor | undefined): Promise<Registration> {
    const registration = await find(clientId, secretFor)
    if (registration === null) throw unknownClient()
    return registration
  }

  /** For who would be refused anyway: nobody waits for them. */
  async function assertRoom(): Promise<void> {
    const [row] = await database.query(statements.registeredBy, [registrar, options.most])
    if ((row?.count ?? 0) >= options.most) throw tooMany()
  }

  /** In the transaction that has inserted one more, of which no other sees the rest any more. */
  async function assertFits(em: EntityManager): Promise<void> {
    await takeTurn(em, registrar)
    if ((await em.count(Client, { registrar })) > options.most) throw tooMany()
  }

  /** What names the client in its own metadata (RFC 7592 §2.2), which nobody may change. */
  async function assertNamed(
    clientId: string,
    { client_id: named, client_secret: secret }: Naming,
  ): Promise<void> {
    if (named !== clientId) throw metadataError('client_id', 'must be that of the client')
    if (secret === undefined || secret === null) return
    if (typeof secret !== 'string' || !(await finder.hasSecret(clientId, secret)))
      throw metadataError('client_secret', 'must be that of the client')
  }

  /** What an administrator has set would be lost with it, or be trusted of what nobody has looked at. */
  function assertOwn({ metadata }: StoredClient): void {
    if (!Object.keys(metadata).every((member) => policies.isOpen(member)))
      throw new OAuthError('access_denied', 'an administrator has taken over this registration')
  }

  return {
    find,
    async create(metadata, allowance = options, along) {
      const client = await parse(randomUUID(), await applyStatement(metadata), allowance)
      await assertRoom()
      const isSecret = policies.needsSecret(client.tokenEndpointAuthMethod ?? undefined)
      const secret = isSecret ? secrets.generate(client.tokenEndpointAuthMethod) : undefined
      const hash = secret === undefined ? undefined : await secrets.hash(secret)
      const { clientId } = client
      const wanted = { client: { ...client, registrar }, secret: secrets.toStore(client, secret, hash) }
      await asItself(clientId, async () =>
        changes.add(wanted, {
          async along(em) {
            await assertFits(em)
            await along?.(em, clientId)
          },
        }),
      )
      return told(clientId, secret === undefined ? undefined : async () => secret)
    },
    async replace(clientId, metadata, allowance = options, shown) {
      const secretFor = secretFrom(clientId, shown)
      const { client_id, client_secret, ...said } = isObject(metadata) ? (metadata as Naming) : {}
      await assertNamed(clientId, { client_id, client_secret })
      const known = (await find(clientId))?.['software_statement']
      const client = await parse(clientId, await applyStatement(said, known), allowance)
      const isSecret = policies.needsSecret(client.tokenEndpointAuthMethod ?? undefined)
      const id = randomUUID()
      const secret = await secretFor(client.tokenEndpointAuthMethod, id)
      const hash = await secrets.hash(secret)
      const want = (had: StoredClient, hadSecrets: readonly StoredSecret[]): WantedClient => {
        if (had.registrar !== registrar) throw unknownClient()
        assertOwn(had)
        assertKnownAlike(had, client)
        const keeps = hadSecrets.some((one) => isUsable(one, client.tokenEndpointAuthMethod))
        const made = isSecret && !keeps ? secret : undefined
        const wanted = { client: { ...client, registrar }, withoutSecret: !isSecret }
        const stored = secrets.toStore(client, made, hash)
        return { ...wanted, secret: stored && { ...stored, id } }
      }
      await asItself(clientId, async () => changes.alter(clientId, want))
      return told(clientId, secretFor)
    },
    delete: async (clientId) =>
      asItself(clientId, async () =>
        changes.remove(clientId, registrar, async (em) => {
          const had = await lockWithSecrets(em, clientId)
          if (had?.registrar === registrar) assertOwn(had)
          return false
        }),
      ),
  }
}

interface Naming {
  readonly client_id?: unknown
  readonly client_secret?: unknown
  readonly [member: string]: unknown
}

function tooMany(): OAuthError {
  return new OAuthError('temporarily_unavailable', 'too many apps have registered themselves', {
    status: 429,
    retryAfter: 3600,
  })
}

async function asItself<T>(clientId: string, work: () => Promise<T>): Promise<T> {
  return actAs({ kind: 'client', id: clientId }, work)
}

function onTheWire(client: StoredClient): Record<string, unknown> {
  const { scope = [], ...members } = toMetadata(client, false)
  return scope.length === 0 ? members : { ...members, scope: scope.join(' ') }
}
