import { Migration } from '@mikro-orm/migrations'

export class Migration20261125000200_bound_resources extends Migration {
  override name = 'Migration20261125000200_bound_resources'

  override up(): void | Promise<void> {
    this.addSql(`alter table "resources" add column "dpop_bound_access_tokens" boolean null;`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "resources" drop column "dpop_bound_access_tokens";`)
  }
}
