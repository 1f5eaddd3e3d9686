import { Migration } from '@mikro-orm/migrations'

export class Migration20261123000060_revoked_keys extends Migration {
  override name = 'Migration20261123000060_revoked_keys'

  override up(): void | Promise<void> {
    this.addSql(`alter table "signing_keys" add column "revoked_at" timestamptz null;`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "signing_keys" drop column "revoked_at";`)
  }
}
