import { Migration } from '@mikro-orm/migrations'

export class Migration20261130000400_security_events extends Migration {
  override name = 'Migration20261130000400_security_events'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "security_events" ("stream" text not null, "jti" text not null, "claims" jsonb not null, "claimed_until" timestamptz null, "expires_at" timestamptz not null default (now() + '7 days'::interval), primary key ("stream", "jti"));`,
    )
    this.addSql(
      `create index "security_events_stream_index" on "security_events" ("stream") where "claimed_until" is not null;`,
    )
    this.addSql(`create index "security_events_expires_at_index" on "security_events" ("expires_at");`)
    this.addSql(
      `create table "removed_subjects" ("stream" text not null, "subject" text not null, primary key ("stream", "subject"));`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "removed_subjects" cascade;`)
    this.addSql(`drop table if exists "security_events" cascade;`)
  }
}
