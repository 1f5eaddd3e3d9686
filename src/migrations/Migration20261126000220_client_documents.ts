import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000220_client_documents extends Migration {
  override name = 'Migration20261126000220_client_documents'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "client_documents" ("client_id" text not null, "document" jsonb not null, "read_at" timestamptz not null, "fresh_until" timestamptz not null, "stale_until" timestamptz not null, "kept_until" timestamptz not null, primary key ("client_id"));`,
    )
    this.addSql(`create index "client_documents_kept_until_index" on "client_documents" ("kept_until");`)
    this.addSql(`alter table "consents" drop constraint "consents_client_id_foreign";`)
    this.addSql(
      `alter table "consents" add column "identity" text null, add column "expires_at" timestamptz null;`,
    )
    this.addSql(
      `create index "consents_expires_at_index" on "consents" ("expires_at") where "expires_at" is not null;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "consents_expires_at_index";`)
    this.addSql(`delete from "consents" where "client_id" not in (select "client_id" from "clients");`)
    this.addSql(`alter table "consents" drop column "identity", drop column "expires_at";`)
    this.addSql(
      `alter table "consents" add constraint "consents_client_id_foreign" foreign key ("client_id") references "clients" ("client_id") on update cascade on delete cascade;`,
    )
    this.addSql(`drop table if exists "client_documents" cascade;`)
  }
}
