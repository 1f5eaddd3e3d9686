import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000007_audit extends Migration {
  override name = 'Migration20261121000007_audit'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "activity" ("hour" timestamptz not null, "type" text not null, "writer" uuid not null, "count" bigint not null, primary key ("hour", "type", "writer"));`,
    )

    this.addSql(
      `create table "audit_events" ("id" uuid not null, "at" timestamptz not null, "type" text not null, "actor_kind" text not null, "actor_id" text null, "user_id" text null, "client_id" text null, "address" text null, "request_id" text null, "count" int not null default 1, "details" jsonb not null, primary key ("id"));`,
    )
    this.addSql(`create index "audit_events_request_id_index" on "audit_events" ("request_id");`)
    this.addSql(`create index "audit_events_type_id_index" on "audit_events" ("type", "id");`)
    this.addSql(`create index "audit_events_user_id_id_index" on "audit_events" ("user_id", "id");`)
    this.addSql(`create index "audit_events_client_id_id_index" on "audit_events" ("client_id", "id");`)
    this.addSql(`create index "audit_events_actor_id_id_index" on "audit_events" ("actor_id", "id");`)
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "activity" cascade;`)
    this.addSql(`drop table if exists "audit_events" cascade;`)
  }
}
