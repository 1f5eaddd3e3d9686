import { Migration } from '@mikro-orm/migrations'

const INDEXES = [
  { name: 'clients_name_search_index', table: 'clients', value: 'lower("client_name")', id: 'client_id' },
  { name: 'users_name_search_index', table: 'users', value: `lower("claims"->>'name')`, id: 'id' },
  { name: 'users_email_search_index', table: 'users', value: `lower("claims"->>'email')`, id: 'id' },
] as const

export class Migration20261121000010_search_pages extends Migration {
  override name = 'Migration20261121000010_search_pages'

  override up(): void | Promise<void> {
    for (const { name, table, value, id } of INDEXES) {
      this.addSql(`drop index "${name}";`)
      this.addSql(`create index "${name}" on "${table}" ((${value} collate "C"), "${id}");`)
    }
  }

  override down(): void | Promise<void> {
    for (const { name, table, value } of INDEXES) {
      this.addSql(`drop index "${name}";`)
      this.addSql(`create index "${name}" on "${table}" ((${value} collate "C"));`)
    }
  }
}
