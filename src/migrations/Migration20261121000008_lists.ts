import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000008_lists extends Migration {
  override name = 'Migration20261121000008_lists'

  override up(): void | Promise<void> {
    this.addSql(
      `create index "authorizations_of_client_index" on "authorizations" ("client_id", "created_at", "id") where "revoked_at" is null;`,
    )
    this.addSql(
      `create index "authorizations_of_user_index" on "authorizations" ("subject", "client_id", "created_at", "id") where "revoked_at" is null;`,
    )
    this.addSql(`drop index "authorizations_client_id_index";`)
    this.addSql(`drop index "authorizations_subject_index";`)

    this.addSql(
      `create index "refresh_tokens_unconsumed_index" on "refresh_tokens" ("authorization_id") where "consumed_at" is null;`,
    )

    this.addSql(`create index "sessions_user_id_created_at_index" on "sessions" ("user_id", "created_at");`)
    this.addSql(`drop index "sessions_user_id_index";`)
  }

  override down(): void | Promise<void> {
    this.addSql(`create index "sessions_user_id_index" on "sessions" ("user_id");`)
    this.addSql(`drop index "sessions_user_id_created_at_index";`)

    this.addSql(`drop index "refresh_tokens_unconsumed_index";`)

    this.addSql(`create index "authorizations_subject_index" on "authorizations" ("subject");`)
    this.addSql(`create index "authorizations_client_id_index" on "authorizations" ("client_id");`)
    this.addSql(`drop index "authorizations_of_user_index";`)
    this.addSql(`drop index "authorizations_of_client_index";`)
  }
}
