import { Migration } from '@mikro-orm/migrations'

export class Migration20261124000100_plugin_records extends Migration {
  override name = 'Migration20261124000100_plugin_records'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "plugin_records" ("kind" text not null, "record_id" text not null, "value" jsonb not null, "record_key" text null, "revision" int not null default 0, "created_at" timestamptz not null default now(), "updated_at" timestamptz not null default now(), primary key ("kind", "record_id"));`,
    )
    this.addSql(
      `alter table "plugin_records" add constraint "plugin_records_kind_record_key_unique" unique ("kind", "record_key");`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "plugin_records" cascade;`)
  }
}
