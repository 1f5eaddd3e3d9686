import { Migration } from '@mikro-orm/migrations'

export class Migration20261123000011_consent_ids extends Migration {
  override name = 'Migration20261123000011_consent_ids'

  override up(): void | Promise<void> {
    // Those that are there get the nil id: no row is written. All others get one of their own, from an earlier version too.
    this.addSql(
      `alter table "consents" add column "consent_id" uuid not null default '00000000-0000-0000-0000-000000000000';`,
    )
    this.addSql(`alter table "consents" alter column "consent_id" set default gen_random_uuid();`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "consents" drop column "consent_id";`)
  }
}
