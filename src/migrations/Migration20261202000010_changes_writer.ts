import { Migration } from '@mikro-orm/migrations'

export class Migration20261202000010_changes_writer extends Migration {
  override name = 'Migration20261202000010_changes_writer'

  override up(): void | Promise<void> {
    this.addSql(`alter table "changes" add column "writer" xid8 not null default pg_current_xact_id();`)
    this.addSql(`create index "changes_writer_index" on "changes" ("writer");`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "changes" drop column "writer";`)
  }
}
