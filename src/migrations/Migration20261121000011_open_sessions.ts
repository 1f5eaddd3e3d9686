import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000011_open_sessions extends Migration {
  override name = 'Migration20261121000011_open_sessions'

  override up(): void | Promise<void> {
    this.addSql(`create index "sessions_expires_at_index" on "sessions" ("expires_at");`)
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "sessions_expires_at_index";`)
  }
}
