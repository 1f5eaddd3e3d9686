/** A registered client and its secrets. Members of RFC 7591 that the server itself does not read lie in `metadata`. */
import { defineEntity, p } from './define.ts'

const ClientSchema = defineEntity({
  name: 'Client',
  tableName: 'clients',
  properties: {
    clientId: p.text().primary(),
    clientName: p.text().nullable(),
    redirectUris: p.array().columnType('text[]').default([]),
    /** Null while unset: the defaults then follow from the other members. */
    responseTypes: p.array().columnType('text[]').nullable(),
    grantTypes: p.array().columnType('text[]').nullable(),
    tokenEndpointAuthMethod: p.text().nullable(),
    scope: p.array().columnType('text[]').default([]),
    metadata: p.json<Record<string, unknown>>().defaultRaw(`'{}'`),
    createdAt: p
      .datetime()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    updatedAt: p
      .datetime()
      .defaultRaw('now()')
      .onCreate(() => new Date())
      .onUpdate(() => new Date()),
    /** The name of the door by which it has registered itself; null where somebody here registered it. */
    registrar: p.text().nullable(),
    /** Another one with each change of the client or its secrets. */
    revision: p.uuid().defaultRaw('gen_random_uuid()'),
    secrets: () => p.oneToMany(ClientSecret).mappedBy('client').orphanRemoval(),
  },
  /** For what begins with a text, whatever the language of the database: by bytes. */
  indexes: [
    {
      name: 'clients_id_search_index',
      expression: 'create index "clients_id_search_index" on "clients" (("client_id" collate "C"))',
    },
    {
      name: 'clients_name_search_index',
      expression:
        'create index "clients_name_search_index" on "clients" ((lower("client_name") collate "C"), "client_id")',
    },
    {
      name: 'clients_registrar_index',
      expression:
        'create index "clients_registrar_index" on "clients" ("registrar") where "registrar" is not null',
    },
    {
      name: 'clients_exchange_index',
      expression: `create index "clients_exchange_index" on "clients" ("client_id") where ("metadata" -> 'token_exchange') is not null`,
    },
  ],
})

/** `client_id`, `redirect_uris`, `scope` and the rest of a client's registration (RFC 7591 §2). */
export class Client extends ClientSchema.class {}
ClientSchema.setClass(Client)

const ClientSecretSchema = defineEntity({
  name: 'ClientSecret',
  tableName: 'client_secrets',
  properties: {
    id: p.uuid().primary(),
    client: () => p.manyToOne(Client).fieldName('client_id').deleteRule('cascade').index(),
    /** A keyed hash of a generated secret, or argon2id of a chosen one: `services/clients/client-secrets.ts`. */
    hash: p.text(),
    /** The secret itself, sealed for its client, where that authenticates by client_secret_jwt; else null. */
    sealed: p.text().nullable(),
    createdAt: p
      .datetime()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    expiresAt: p.datetime().nullable(),
  },
})

/** One of the secrets that a client may use; several live at a time while they are being replaced, and one alone has no end. */
export class ClientSecret extends ClientSecretSchema.class {}
ClientSecretSchema.setClass(ClientSecret)
