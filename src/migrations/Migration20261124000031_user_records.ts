import { Migration } from '@mikro-orm/migrations'

export class Migration20261124000031_user_records extends Migration {
  override name = 'Migration20261124000031_user_records'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "user_records" ("user_id" uuid not null, "kind" text not null, "record_id" text not null, "value" jsonb not null, "revision" int not null default 0, "unique_id" text null, "created_at" timestamptz not null default now(), "updated_at" timestamptz not null default now(), primary key ("user_id", "kind", "record_id"));`,
    )
    this.addSql(
      `alter table "user_records" add constraint "user_records_unique_id_unique" unique ("unique_id");`,
    )
    this.addSql(
      `alter table "user_records" add constraint "user_records_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "user_records" cascade;`)
  }
}
