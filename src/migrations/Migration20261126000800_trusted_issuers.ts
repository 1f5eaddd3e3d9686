import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000800_trusted_issuers extends Migration {
  override name = 'Migration20261126000800_trusted_issuers'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "trusted_issuers" ("issuer" text not null, "generation" uuid not null, "jwks_uri" text null, "jwks" jsonb null, "algorithms" text[] null, "audiences" text[] null, "subject" text null, "subject_claim" text null, "scopes" text[] null, "resources" text[] null, "clients" text[] null, "claims" jsonb null, "max_age" int null, "reusable" boolean null, "disabled" boolean null, primary key ("issuer"));`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "trusted_issuers" cascade;`)
  }
}
