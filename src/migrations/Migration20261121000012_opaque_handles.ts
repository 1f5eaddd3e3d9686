import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000012_opaque_handles extends Migration {
  override name = 'Migration20261121000012_opaque_handles'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "access_tokens" add column "authorization_id" uuid not null default '00000000-0000-0000-0000-000000000000';`,
    )
    this.addSql(`alter table "access_tokens" drop constraint "access_tokens_pkey";`)
    this.addSql(
      `alter table "access_tokens" add constraint "access_tokens_pkey" primary key ("hash", "authorization_id");`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "access_tokens" drop constraint "access_tokens_pkey";`)
    this.addSql(`alter table "access_tokens" drop column "authorization_id";`)
    this.addSql(`alter table "access_tokens" add constraint "access_tokens_pkey" primary key ("hash");`)
  }
}
