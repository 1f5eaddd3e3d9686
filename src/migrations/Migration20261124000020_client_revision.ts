import { Migration } from '@mikro-orm/migrations'

export class Migration20261124000020_client_revision extends Migration {
  override name = 'Migration20261124000020_client_revision'

  override up(): void | Promise<void> {
    // Those that are there get the nil id: no row is written. All others get one of their own, from an earlier version too.
    this.addSql(
      `alter table "clients" add column "revision" uuid not null default '00000000-0000-0000-0000-000000000000';`,
    )
    this.addSql(`alter table "clients" alter column "revision" set default gen_random_uuid();`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "clients" drop column "revision";`)
  }
}
