import { Migration } from '@mikro-orm/migrations'

const COLUMNS = [
  'kind',
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
  'token_endpoint_auth_method',
  'subject_claim',
  'team_id',
  'key_id',
]

export class Migration20261130000300_upstream_kinds extends Migration {
  override name = 'Migration20261130000300_upstream_kinds'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "upstreams" ${COLUMNS.map((name) => `add column "${name}" text null`).join(', ')};`,
    )
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "upstreams" ${COLUMNS.map((name) => `drop column "${name}"`).join(', ')};`)
  }
}
