import { Migration } from '@mikro-orm/migrations'

export class Migration20261123000010_consent_lines extends Migration {
  override name = 'Migration20261123000010_consent_lines'

  override up(): void | Promise<void> {
    this.addSql(`alter table "consents" add column "lines" jsonb not null default '{}';`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "consents" drop column "lines";`)
  }
}
