import { Migration } from '@mikro-orm/migrations'

export class Migration20261124000050_self_registered extends Migration {
  override name = 'Migration20261124000050_self_registered'

  override up(): void | Promise<void> {
    this.addSql(`alter table "clients" add column "registrar" text null;`)
    this.addSql(
      `create index "clients_registrar_index" on "clients" ("registrar") where "registrar" is not null;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "clients_registrar_index";`)
    this.addSql(`alter table "clients" drop column "registrar";`)
  }
}
