import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000840_session_clients extends Migration {
  override name = 'Migration20261126000840_session_clients'

  override up(): void | Promise<void> {
    this.addSql(`alter table "sessions" add column "clients" jsonb not null default '{}';`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "sessions" drop column "clients";`)
  }
}
