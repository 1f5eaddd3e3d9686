import { Migration } from '@mikro-orm/migrations'

export class Migration20261124000090_upstreams extends Migration {
  override name = 'Migration20261124000090_upstreams'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "upstreams" ("id" text not null, "issuer" text not null, "client_id" text not null, "client_secret" text null, "name" text null, "scope" text[] null, "domains" text[] null, "trust_email" boolean null, "sign_up" boolean null, "button" boolean null, "claims" jsonb null, primary key ("id"));`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "upstreams" cascade;`)
  }
}
