import { Migration } from '@mikro-orm/migrations'

export class Migration20261124000110_account_deletions extends Migration {
  override name = 'Migration20261124000110_account_deletions'

  override up(): void | Promise<void> {
    this.addSql(`alter table "users" add column "deletion_due_at" timestamptz null;`)
    this.addSql(
      `create index "users_deletion_due_index" on "users" ("deletion_due_at") where "deletion_due_at" is not null;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "users_deletion_due_index";`)
    this.addSql(`alter table "users" drop column "deletion_due_at";`)
  }
}
