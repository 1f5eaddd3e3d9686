import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000013_code_proofs extends Migration {
  override name = 'Migration20261121000013_code_proofs'

  override up(): void | Promise<void> {
    this.addSql(`alter table "authorization_codes" add column "proof" text null;`)
    this.addSql(`alter table "authorizations" add column "code_proof" text null;`)
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "authorizations" drop column "code_proof";`)
    this.addSql(`alter table "authorization_codes" drop column "proof";`)
  }
}
