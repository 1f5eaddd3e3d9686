import { Migration } from '@mikro-orm/migrations'

export class Migration20261124000120_declined_scopes extends Migration {
  override name = 'Migration20261124000120_declined_scopes'

  override up(): void | Promise<void> {
    this.addSql(`alter table "consents" add column "declined" text[] not null default '{}';`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "consents" drop column "declined";`)
  }
}
