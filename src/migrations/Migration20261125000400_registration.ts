import { Migration } from '@mikro-orm/migrations'

export class Migration20261125000400_registration extends Migration {
  override name = 'Migration20261125000400_registration'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "registrations" ("client_id" text not null, "hash" text not null, "former_hash" text null, "allowance" jsonb not null, "used_at" timestamptz not null default now(), primary key ("client_id"));`,
    )
    this.addSql(`create index "registrations_used_at_index" on "registrations" ("used_at");`)
    this.addSql(
      `alter table "registrations" add constraint "registrations_client_id_foreign" foreign key ("client_id") references "clients" ("client_id") on update cascade on delete cascade;`,
    )
    this.addSql(
      `create table "initial_tokens" ("name" text not null, "hash" text not null, "uses_left" int not null, "expires_at" timestamptz not null, "allowance" jsonb not null, "created_at" timestamptz not null default now(), primary key ("name"));`,
    )
    this.addSql(`alter table "initial_tokens" add constraint "initial_tokens_hash_unique" unique ("hash");`)
    this.addSql(`create index "initial_tokens_expires_at_index" on "initial_tokens" ("expires_at");`)
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "registrations" cascade;`)
    this.addSql(`drop table if exists "initial_tokens" cascade;`)
  }
}
