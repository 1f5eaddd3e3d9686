import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000009_user_administration extends Migration {
  override name = 'Migration20261121000009_user_administration'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "users" add column "password_link_hash" text null, add column "password_link_ends_at" timestamptz null;`,
    )
    this.addSql(`create index "users_username_search_index" on "users" (("username_key" collate "C"));`)
    this.addSql(`create index "users_name_search_index" on "users" ((lower("claims"->>'name') collate "C"));`)
    this.addSql(
      `create index "users_email_search_index" on "users" ((lower("claims"->>'email') collate "C"));`,
    )
    this.addSql(`create index "users_roles_index" on "users" using gin ("roles");`)
    this.addSql(
      `create index "users_password_link_index" on "users" ("password_link_hash") where "password_link_hash" is not null;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "users_password_link_index";`)
    this.addSql(`drop index "users_roles_index";`)
    this.addSql(`drop index "users_email_search_index";`)
    this.addSql(`drop index "users_name_search_index";`)
    this.addSql(`drop index "users_username_search_index";`)
    this.addSql(`alter table "users" drop column "password_link_hash", drop column "password_link_ends_at";`)
  }
}
