import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000003_server_secrets extends Migration {
  override name = 'Migration20261121000003_server_secrets'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "server_secrets" ("name" text not null, "sealed" text not null, "created_at" timestamptz not null default now(), primary key ("name"));`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "server_secrets" cascade;`)
  }
}
