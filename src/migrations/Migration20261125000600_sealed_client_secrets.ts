import { Migration } from '@mikro-orm/migrations'

export class Migration20261125000600_sealed_client_secrets extends Migration {
  override name = 'Migration20261125000600_sealed_client_secrets'

  override up(): void | Promise<void> {
    this.addSql(`alter table "client_secrets" add "sealed" text null;`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "client_secrets" drop column "sealed";`)
  }
}
