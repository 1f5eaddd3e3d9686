import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000002_throttles extends Migration {
  override name = 'Migration20261121000002_throttles'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "throttles" ("source" text not null, "account" text not null, "free_at" timestamptz not null, primary key ("source", "account"));`,
    )
    this.addSql(`create index "throttles_free_at_index" on "throttles" ("free_at");`)
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "throttles" cascade;`)
  }
}
