import { Migration } from '@mikro-orm/migrations'

export class Migration20261130000100_outbox_recipients extends Migration {
  override name = 'Migration20261130000100_outbox_recipients'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "outbox_recipients" ("kind" text not null, "recipient" text not null, "failures" int not null default 0, "failing_since" timestamptz null, "rests_until" timestamptz null, "outcomes" jsonb not null default '[]', "seen_at" timestamptz not null default now(), primary key ("kind", "recipient"));`,
    )
    this.addSql(`create index "outbox_recipients_seen_at_index" on "outbox_recipients" ("seen_at");`)
    this.addSql(`alter table "outbox" add "recipient" text not null default '';`)
    this.addSql(
      `create index "outbox_kind_recipient_due_at_index" on "outbox" ("kind", "recipient", "due_at") where "given_up_at" is null;`,
    )
    this.addSql(
      `create index "outbox_kind_recipient_tries_until_index" on "outbox" ("kind", "recipient", "tries_until") where "recipient" <> '';`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "outbox_kind_recipient_tries_until_index";`)
    this.addSql(`drop index "outbox_kind_recipient_due_at_index";`)
    this.addSql(`alter table "outbox" drop column "recipient";`)
    this.addSql(`drop table if exists "outbox_recipients" cascade;`)
  }
}
