import { Migration } from '@mikro-orm/migrations'

export class Migration20261201000010_changes_written extends Migration {
  override name = 'Migration20261201000010_changes_written'

  override up(): void | Promise<void> {
    this.addSql(`alter table "changes" alter column "changed_at" set default clock_timestamp();`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "changes" alter column "changed_at" set default now();`)
  }
}
