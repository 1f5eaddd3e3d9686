import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000005_janitor extends Migration {
  override name = 'Migration20261121000005_janitor'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "authorizations" add column "kept_until" timestamptz not null default now() + interval '1 day';`,
    )
    this.addSql(`create index "authorizations_kept_until_index" on "authorizations" ("kept_until");`)

    this.addSql(
      `create index "authorization_codes_unspent_index" on "authorization_codes" ("expires_at") where "spent_at" is null;`,
    )
    this.addSql(`drop index "authorization_codes_expires_at_index";`)

    this.addSql(`drop index "refresh_tokens_expires_at_index";`)

    this.addSql(`create index "sessions_ends_at_index" on "sessions" ("ends_at");`)
    this.addSql(`drop index "sessions_expires_at_index";`)
  }

  override down(): void | Promise<void> {
    this.addSql(`create index "sessions_expires_at_index" on "sessions" ("expires_at");`)
    this.addSql(`drop index "sessions_ends_at_index";`)

    this.addSql(`create index "refresh_tokens_expires_at_index" on "refresh_tokens" ("expires_at");`)

    this.addSql(
      `create index "authorization_codes_expires_at_index" on "authorization_codes" ("expires_at");`,
    )
    this.addSql(`drop index "authorization_codes_unspent_index";`)

    this.addSql(`alter table "authorizations" drop column "kept_until";`)
  }
}
