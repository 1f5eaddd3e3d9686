import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000014_refresh_generations extends Migration {
  override name = 'Migration20261121000014_refresh_generations'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "refresh_tokens" add column "generation" int not null default 0, add column "sealed" text null;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "refresh_tokens" drop column "generation", drop column "sealed";`)
  }
}
