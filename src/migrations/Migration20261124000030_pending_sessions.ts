import { Migration } from '@mikro-orm/migrations'

export class Migration20261124000030_pending_sessions extends Migration {
  override name = 'Migration20261124000030_pending_sessions'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "pending_sessions" ("hash" text not null, "sid" uuid not null, "user_id" uuid not null, "user_updated_at" timestamptz not null, "authenticated_at" timestamptz not null, "amr" text[] not null, "acr" text null, "user_agent" text null, "address" text null, "created_at" timestamptz not null default now(), "expires_at" timestamptz not null, primary key ("hash"));`,
    )
    this.addSql(`create index "pending_sessions_expires_at_index" on "pending_sessions" ("expires_at");`)
    this.addSql(
      `create index "pending_sessions_user_id_created_at_index" on "pending_sessions" ("user_id", "created_at");`,
    )
    this.addSql(
      `alter table "pending_sessions" add constraint "pending_sessions_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "pending_sessions" cascade;`)
  }
}
