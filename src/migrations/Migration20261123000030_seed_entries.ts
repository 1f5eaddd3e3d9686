import { Migration } from '@mikro-orm/migrations'

export class Migration20261123000030_seed_entries extends Migration {
  override name = 'Migration20261123000030_seed_entries'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "seed_entries" ("kind" text not null, "key" text not null, "said" jsonb not null, "said_at" timestamptz not null default now(), primary key ("kind", "key"));`,
    )
    // What is there already may be of a SEED_FILE, of which nobody remembers what it said.
    this.addSql(
      `insert into "seed_entries" ("kind", "key", "said") select 'since', '', '{}' where exists (select from "clients") or exists (select from "users");`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "seed_entries" cascade;`)
  }
}
