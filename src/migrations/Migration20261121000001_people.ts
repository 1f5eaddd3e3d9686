import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000001_people extends Migration {
  override name = 'Migration20261121000001_people'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "authorization_codes" ("authorization_id" uuid not null, "hash" text not null, "client_id" text not null, "subject" text not null, "redirect_uri" text not null, "code_challenge" text null, "granted" jsonb not null, "expires_at" timestamptz not null, "spent_at" timestamptz null, primary key ("authorization_id", "hash"));`,
    )
    this.addSql(`create index "authorization_codes_subject_index" on "authorization_codes" ("subject");`)
    this.addSql(
      `create index "authorization_codes_expires_at_index" on "authorization_codes" ("expires_at");`,
    )

    this.addSql(
      `create table "refresh_tokens" ("authorization_id" uuid not null, "hash" text not null, "created_at" timestamptz not null default now(), "expires_at" timestamptz not null, "consumed_at" timestamptz null, "successor_hash" text null, "successor" text null, primary key ("authorization_id", "hash"));`,
    )
    this.addSql(`create index "refresh_tokens_expires_at_index" on "refresh_tokens" ("expires_at");`)

    this.addSql(
      `create table "users" ("id" uuid not null, "username" text not null, "username_key" text not null, "password_hash" text null, "roles" text[] not null default '{}', "claims" jsonb not null default '{}', "disabled_at" timestamptz null, "created_at" timestamptz not null default now(), "updated_at" timestamptz not null default now(), primary key ("id"));`,
    )
    this.addSql(`alter table "users" add constraint "users_username_key_unique" unique ("username_key");`)

    this.addSql(
      `create table "sessions" ("hash" text not null, "sid" uuid not null, "user_id" uuid not null, "authenticated_at" timestamptz not null, "amr" text[] not null, "acr" text null, "user_agent" text null, "address" text null, "created_at" timestamptz not null default now(), "last_seen_at" timestamptz not null default now(), "expires_at" timestamptz not null, "ends_at" timestamptz not null, primary key ("hash"));`,
    )
    this.addSql(`alter table "sessions" add constraint "sessions_sid_unique" unique ("sid");`)
    this.addSql(`create index "sessions_user_id_index" on "sessions" ("user_id");`)
    this.addSql(`create index "sessions_expires_at_index" on "sessions" ("expires_at");`)

    this.addSql(
      `create table "consents" ("user_id" uuid not null, "client_id" text not null, "scopes" text[] not null, "resources" text[] not null, "granted_at" timestamptz not null default now(), primary key ("user_id", "client_id"));`,
    )
    this.addSql(`create index "consents_client_id_index" on "consents" ("client_id");`)

    this.addSql(
      `alter table "sessions" add constraint "sessions_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`,
    )

    this.addSql(
      `alter table "consents" add constraint "consents_user_id_foreign" foreign key ("user_id") references "users" ("id") on update cascade on delete cascade;`,
    )
    this.addSql(
      `alter table "consents" add constraint "consents_client_id_foreign" foreign key ("client_id") references "clients" ("client_id") on update cascade on delete cascade;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "sessions" drop constraint "sessions_user_id_foreign";`)
    this.addSql(`alter table "consents" drop constraint "consents_user_id_foreign";`)

    this.addSql(`drop table if exists "authorization_codes" cascade;`)
    this.addSql(`drop table if exists "refresh_tokens" cascade;`)
    this.addSql(`drop table if exists "users" cascade;`)
    this.addSql(`drop table if exists "sessions" cascade;`)
    this.addSql(`drop table if exists "consents" cascade;`)
  }
}
