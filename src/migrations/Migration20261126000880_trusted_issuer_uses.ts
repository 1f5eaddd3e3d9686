import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000880_trusted_issuer_uses extends Migration {
  override name = 'Migration20261126000880_trusted_issuer_uses'

  override up(): void | Promise<void> {
    this.addSql(`alter table "trusted_issuers" add column "used_at" timestamptz null;`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "trusted_issuers" drop column "used_at";`)
  }
}
