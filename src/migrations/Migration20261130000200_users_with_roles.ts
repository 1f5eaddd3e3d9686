import { Migration } from '@mikro-orm/migrations'

export class Migration20261130000200_users_with_roles extends Migration {
  override name = 'Migration20261130000200_users_with_roles'

  override up(): void | Promise<void> {
    this.addSql(`create index "users_with_roles_index" on "users" ("id") where "roles" <> '{}';`)
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "users_with_roles_index";`)
  }
}
