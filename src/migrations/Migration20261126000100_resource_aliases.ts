import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000100_resource_aliases extends Migration {
  override name = 'Migration20261126000100_resource_aliases'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "resource_aliases" ("name" text not null, "alias" text not null, "resource" text not null, primary key ("name"));`,
    )
    this.addSql(`create index "resource_aliases_resource_index" on "resource_aliases" ("resource");`)
    this.addSql(
      `alter table "resource_aliases" add constraint "resource_aliases_resource_foreign" foreign key ("resource") references "resources" ("resource") on delete cascade;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "resource_aliases" cascade;`)
  }
}
