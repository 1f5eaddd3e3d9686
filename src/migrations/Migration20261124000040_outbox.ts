import { Migration } from '@mikro-orm/migrations'

export class Migration20261124000040_outbox extends Migration {
  override name = 'Migration20261124000040_outbox'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "outbox" ("id" uuid not null, "kind" text not null, "payload" text not null, "enqueued_at" timestamptz not null default now(), "due_at" timestamptz not null default now(), "tries_until" timestamptz not null default (now() + '1 day'::interval), "attempts" int not null default 0, "last_error" text null, "given_up_at" timestamptz null, primary key ("id"));`,
    )
    this.addSql(`create index "outbox_tries_until_index" on "outbox" ("tries_until");`)
    this.addSql(`create index "outbox_due_at_index" on "outbox" ("due_at") where "given_up_at" is null;`)
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "outbox" cascade;`)
  }
}
