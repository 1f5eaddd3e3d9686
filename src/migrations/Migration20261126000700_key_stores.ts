import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000700_key_stores extends Migration {
  override name = 'Migration20261126000700_key_stores'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "signing_keys" add column "store" text not null default 'database', add column "reference" text not null default '';`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "signing_keys" drop column "store", drop column "reference";`)
  }
}
