import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000881_exchanging_clients extends Migration {
  override name = 'Migration20261126000881_exchanging_clients'

  override up(): void | Promise<void> {
    this.addSql(
      `create index "clients_exchange_index" on "clients" ("client_id") where ("metadata" -> 'token_exchange') is not null;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "clients_exchange_index";`)
  }
}
