import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000016_refresh_without_spent extends Migration {
  override name = 'Migration20261121000016_refresh_without_spent'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "refresh_tokens" drop column "consumed_at", drop column "successor_hash", drop column "successor";`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(
      `alter table "refresh_tokens" add column "consumed_at" timestamptz null, add column "successor_hash" text null, add column "successor" text null;`,
    )
  }
}
