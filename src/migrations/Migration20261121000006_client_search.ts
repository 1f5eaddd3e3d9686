import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000006_client_search extends Migration {
  override name = 'Migration20261121000006_client_search'

  override up(): void | Promise<void> {
    this.addSql(`create index "clients_id_search_index" on "clients" (("client_id" collate "C"));`)
    this.addSql(`create index "clients_name_search_index" on "clients" ((lower("client_name") collate "C"));`)
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "clients_name_search_index";`)
    this.addSql(`drop index "clients_id_search_index";`)
  }
}
