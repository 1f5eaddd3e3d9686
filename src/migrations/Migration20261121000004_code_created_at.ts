import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000004_code_created_at extends Migration {
  override name = 'Migration20261121000004_code_created_at'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "authorization_codes" add column "created_at" timestamptz not null default now();`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "authorization_codes" drop column "created_at";`)
  }
}
