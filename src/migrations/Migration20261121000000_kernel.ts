import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000000_kernel extends Migration {
  override name = 'Migration20261121000000_kernel'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "access_tokens" ("hash" text not null, "claims" jsonb not null, "expires_at" timestamptz not null, "revoked_at" timestamptz null, primary key ("hash"));`,
    )
    this.addSql(`create index "access_tokens_expires_at_index" on "access_tokens" ("expires_at");`)

    this.addSql(
      `create table "artifacts" ("kind" text not null, "hash" text not null, "value" jsonb not null, "revision" int not null default 0, "expires_at" timestamptz not null, "spent_at" timestamptz null, primary key ("kind", "hash"));`,
    )
    this.addSql(`create index "artifacts_expires_at_index" on "artifacts" ("expires_at");`)

    this.addSql(
      `create table "authorizations" ("id" uuid not null, "client_id" text not null, "subject" text not null, "scopes" text[] not null, "resources" text[] not null, "parameters" jsonb not null, "authentication" jsonb null, "created_at" timestamptz not null default now(), "revoked_at" timestamptz null, "revocation_cause" text null, primary key ("id"));`,
    )
    this.addSql(`create index "authorizations_client_id_index" on "authorizations" ("client_id");`)
    this.addSql(`create index "authorizations_subject_index" on "authorizations" ("subject");`)

    this.addSql(
      `create table "changes" ("id" uuid not null, "kind" text not null, "key" text not null, "expires_at" timestamptz null, "changed_at" timestamptz not null default now(), primary key ("id"));`,
    )
    this.addSql(`create index "changes_changed_at_index" on "changes" ("changed_at");`)

    this.addSql(
      `create table "clients" ("client_id" text not null, "client_name" text null, "redirect_uris" text[] not null default '{}', "response_types" text[] null, "grant_types" text[] null, "token_endpoint_auth_method" text null, "scope" text[] not null default '{}', "metadata" jsonb not null default '{}', "created_at" timestamptz not null default now(), "updated_at" timestamptz not null default now(), primary key ("client_id"));`,
    )

    this.addSql(
      `create table "client_secrets" ("id" uuid not null, "client_id" text not null, "hash" text not null, "created_at" timestamptz not null default now(), "expires_at" timestamptz null, primary key ("id"));`,
    )
    this.addSql(`create index "client_secrets_client_id_index" on "client_secrets" ("client_id");`)

    this.addSql(
      `create table "resources" ("resource" text not null, "name" text null, "access_token_format" text null, "access_token_lifetime" int null, primary key ("resource"));`,
    )

    this.addSql(
      `create table "revoked_tokens" ("jti" text not null, "expires_at" timestamptz not null, primary key ("jti"));`,
    )
    this.addSql(`create index "revoked_tokens_expires_at_index" on "revoked_tokens" ("expires_at");`)

    this.addSql(
      `create table "scopes" ("name" text not null, "description" text null, "resource" text null, primary key ("name"));`,
    )
    this.addSql(`create index "scopes_resource_index" on "scopes" ("resource");`)

    this.addSql(
      `create table "signing_keys" ("kid" text not null, "algorithm" text not null, "predecessor" text not null, "public_jwk" jsonb not null, "private_jwk" text not null, "created_at" timestamptz not null default now(), "signs_from" timestamptz not null, "retires_at" timestamptz null, primary key ("kid"));`,
    )
    this.addSql(
      `alter table "signing_keys" add constraint "signing_keys_algorithm_predecessor_unique" unique ("algorithm", "predecessor");`,
    )

    this.addSql(
      `alter table "client_secrets" add constraint "client_secrets_client_id_foreign" foreign key ("client_id") references "clients" ("client_id") on delete cascade;`,
    )

    this.addSql(
      `alter table "scopes" add constraint "scopes_resource_foreign" foreign key ("resource") references "resources" ("resource") on delete set null;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "client_secrets" drop constraint "client_secrets_client_id_foreign";`)
    this.addSql(`alter table "scopes" drop constraint "scopes_resource_foreign";`)

    this.addSql(`drop table if exists "access_tokens" cascade;`)
    this.addSql(`drop table if exists "artifacts" cascade;`)
    this.addSql(`drop table if exists "authorizations" cascade;`)
    this.addSql(`drop table if exists "changes" cascade;`)
    this.addSql(`drop table if exists "clients" cascade;`)
    this.addSql(`drop table if exists "client_secrets" cascade;`)
    this.addSql(`drop table if exists "resources" cascade;`)
    this.addSql(`drop table if exists "revoked_tokens" cascade;`)
    this.addSql(`drop table if exists "scopes" cascade;`)
    this.addSql(`drop table if exists "signing_keys" cascade;`)
  }
}
