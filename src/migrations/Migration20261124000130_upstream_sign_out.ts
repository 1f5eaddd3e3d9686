import { Migration } from '@mikro-orm/migrations'

export class Migration20261124000130_upstream_sign_out extends Migration {
  override name = 'Migration20261124000130_upstream_sign_out'

  override up(): void | Promise<void> {
    this.addSql(`alter table "upstreams" add column "sign_out" boolean null;`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "upstreams" drop column "sign_out";`)
  }
}
