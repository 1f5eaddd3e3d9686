import { Migration } from '@mikro-orm/migrations'

export class Migration20261124000080_email_keys extends Migration {
  override name = 'Migration20261124000080_email_keys'

  override up(): void | Promise<void> {
    this.addSql(`alter table "users" add column "email_key" text null;`)
    // Where several have verified one address, it is nobody's name: `doctor` says so.
    this.addSql(
      `update "users" u set "email_key" = k."key" from (
        select min("id"::text)::uuid as "id", "key" from (
          select "id", lower(trim("claims"->>'email')) as "key" from "users"
          where "claims"->'email_verified' = 'true'::jsonb and "claims"->>'email' <> '') keyed
        group by "key" having count(*) = 1) k
      where u."id" = k."id";`,
    )
    this.addSql(`alter table "users" add constraint "users_email_key_unique" unique ("email_key");`)
    this.addSql(
      `create index "users_email_unclaimed_index" on "users" ("id") where "email_key" is null and "claims"->'email_verified' = 'true'::jsonb and "claims"->>'email' <> '';`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "users_email_unclaimed_index";`)
    this.addSql(`alter table "users" drop constraint "users_email_key_unique";`)
    this.addSql(`alter table "users" drop column "email_key";`)
  }
}
