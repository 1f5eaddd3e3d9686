import { Migration } from '@mikro-orm/migrations'

export class Migration20261201000100_security_event_attempts extends Migration {
  override name = 'Migration20261201000100_security_event_attempts'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "security_events" add column "attempts" int not null default 0, add column "due_at" timestamptz null;`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "security_events" drop column "attempts", drop column "due_at";`)
  }
}
