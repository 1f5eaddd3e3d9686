import { Migration } from '@mikro-orm/migrations'

export class Migration20261124000021_spent_handles extends Migration {
  override name = 'Migration20261124000021_spent_handles'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "spent_handles" ("hash" text not null, "expires_at" timestamptz not null, primary key ("hash"));`,
    )
    this.addSql(`create index "spent_handles_expires_at_index" on "spent_handles" ("expires_at");`)
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "spent_handles" cascade;`)
  }
}
