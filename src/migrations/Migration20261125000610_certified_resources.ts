import { Migration } from '@mikro-orm/migrations'

export class Migration20261125000610_certified_resources extends Migration {
  override name = 'Migration20261125000610_certified_resources'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "resources" add column "tls_client_certificate_bound_access_tokens" boolean null;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "resources" drop column "tls_client_certificate_bound_access_tokens";`)
  }
}
