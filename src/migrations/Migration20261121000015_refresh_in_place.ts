import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000015_refresh_in_place extends Migration {
  override name = 'Migration20261121000015_refresh_in_place'

  override up(): void | Promise<void> {
    this.addSql(`delete from "refresh_tokens" where "consumed_at" is not null;`)
    this.addSql(`drop index "refresh_tokens_unconsumed_index";`)
    this.addSql(
      `alter table "refresh_tokens" drop constraint "refresh_tokens_pkey", add primary key ("authorization_id");`,
    )
    this.addSql(`alter table "refresh_tokens" set (fillfactor = 80);`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "refresh_tokens" reset (fillfactor);`)
    this.addSql(
      `alter table "refresh_tokens" drop constraint "refresh_tokens_pkey", add primary key ("authorization_id", "hash");`,
    )
    this.addSql(
      `create index "refresh_tokens_unconsumed_index" on "refresh_tokens" ("authorization_id") where "consumed_at" is null;`,
    )
  }
}
