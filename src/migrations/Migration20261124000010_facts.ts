import { Migration } from '@mikro-orm/migrations'

export class Migration20261124000010_facts extends Migration {
  override name = 'Migration20261124000010_facts'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "authorizations" add column "actor" jsonb null, add column "binding" jsonb null, add column "parent" jsonb null, add column "not_after" timestamptz null;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(
      `alter table "authorizations" drop column "actor", drop column "binding", drop column "parent", drop column "not_after";`,
    )
  }
}
