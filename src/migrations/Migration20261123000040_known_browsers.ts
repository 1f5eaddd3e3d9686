import { Migration } from '@mikro-orm/migrations'

export class Migration20261123000040_known_browsers extends Migration {
  override name = 'Migration20261123000040_known_browsers'

  override up(): void | Promise<void> {
    this.addSql(`alter table "users" add column "strangers_before" timestamptz null;`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "users" drop column "strangers_before";`)
  }
}
