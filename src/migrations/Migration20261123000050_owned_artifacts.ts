import { Migration } from '@mikro-orm/migrations'

export class Migration20261123000050_owned_artifacts extends Migration {
  override name = 'Migration20261123000050_owned_artifacts'

  override up(): void | Promise<void> {
    this.addSql(`alter table "artifacts" add column "owner" text null;`)
    this.addSql(
      `create index "artifacts_owner_kind_expires_at_index" on "artifacts" ("owner", "kind", "expires_at") where "owner" is not null;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "artifacts_owner_kind_expires_at_index";`)
    this.addSql(`alter table "artifacts" drop column "owner";`)
  }
}
