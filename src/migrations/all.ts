/** The migrations in their order: a list and not a folder scan, so that a packed copy runs the same ones. */
import { Migration20261121000000_kernel } from './Migration20261121000000_kernel.ts'
import { Migration20261121000001_people } from './Migration20261121000001_people.ts'
import { Migration20261121000002_throttles } from './Migration20261121000002_throttles.ts'
import { Migration20261121000003_server_secrets } from './Migration20261121000003_server_secrets.ts'
import { Migration20261121000004_code_created_at } from './Migration20261121000004_code_created_at.ts'
import { Migration20261121000005_janitor } from './Migration20261121000005_janitor.ts'
import { Migration20261121000006_client_search } from './Migration20261121000006_client_search.ts'
import { Migration20261121000007_audit } from './Migration20261121000007_audit.ts'
import { Migration20261121000008_lists } from './Migration20261121000008_lists.ts'
import { Migration20261121000009_user_administration } from './Migration20261121000009_user_administration.ts'
import { Migration20261121000010_search_pages } from './Migration20261121000010_search_pages.ts'
import { Migration20261121000011_open_sessions } from './Migration20261121000011_open_sessions.ts'
import { Migration20261121000012_opaque_handles } from './Migration20261121000012_opaque_handles.ts'
import { Migration20261121000013_code_proofs } from './Migration20261121000013_code_proofs.ts'
import { Migration20261121000014_refresh_generations } from './Migration20261121000014_refresh_generations.ts'
import { Migration20261121000015_refresh_in_place } from './Migration20261121000015_refresh_in_place.ts'
import { Migration20261121000016_refresh_without_spent } from './Migration20261121000016_refresh_without_spent.ts'
import { Migration20261123000010_consent_lines } from './Migration20261123000010_consent_lines.ts'
import { Migration20261123000011_consent_ids } from './Migration20261123000011_consent_ids.ts'
import { Migration20261123000030_seed_entries } from './Migration20261123000030_seed_entries.ts'
import { Migration20261123000040_known_browsers } from './Migration20261123000040_known_browsers.ts'
import { Migration20261123000050_owned_artifacts } from './Migration20261123000050_owned_artifacts.ts'
import { Migration20261123000060_revoked_keys } from './Migration20261123000060_revoked_keys.ts'
import { Migration20261124000010_facts } from './Migration20261124000010_facts.ts'
import { Migration20261124000020_client_revision } from './Migration20261124000020_client_revision.ts'
import { Migration20261124000021_spent_handles } from './Migration20261124000021_spent_handles.ts'
import { Migration20261124000030_pending_sessions } from './Migration20261124000030_pending_sessions.ts'
import { Migration20261124000031_user_records } from './Migration20261124000031_user_records.ts'
import { Migration20261124000040_outbox } from './Migration20261124000040_outbox.ts'
import { Migration20261124000050_self_registered } from './Migration20261124000050_self_registered.ts'
import { Migration20261124000080_email_keys } from './Migration20261124000080_email_keys.ts'
import { Migration20261124000090_upstreams } from './Migration20261124000090_upstreams.ts'
import { Migration20261124000100_plugin_records } from './Migration20261124000100_plugin_records.ts'
import { Migration20261124000110_account_deletions } from './Migration20261124000110_account_deletions.ts'
import { Migration20261124000120_declined_scopes } from './Migration20261124000120_declined_scopes.ts'
import { Migration20261124000130_upstream_sign_out } from './Migration20261124000130_upstream_sign_out.ts'
import { Migration20261125000200_bound_resources } from './Migration20261125000200_bound_resources.ts'
import { Migration20261125000400_registration } from './Migration20261125000400_registration.ts'
import { Migration20261125000600_sealed_client_secrets } from './Migration20261125000600_sealed_client_secrets.ts'
import { Migration20261125000610_certified_resources } from './Migration20261125000610_certified_resources.ts'
import { Migration20261126000100_resource_aliases } from './Migration20261126000100_resource_aliases.ts'
import { Migration20261126000220_client_documents } from './Migration20261126000220_client_documents.ts'
import { Migration20261126000700_key_stores } from './Migration20261126000700_key_stores.ts'
import { Migration20261126000800_trusted_issuers } from './Migration20261126000800_trusted_issuers.ts'
import { Migration20261126000840_session_clients } from './Migration20261126000840_session_clients.ts'
import { Migration20261126000880_trusted_issuer_uses } from './Migration20261126000880_trusted_issuer_uses.ts'
import { Migration20261126000881_exchanging_clients } from './Migration20261126000881_exchanging_clients.ts'
import { Migration20261130000100_outbox_recipients } from './Migration20261130000100_outbox_recipients.ts'
import { Migration20261130000200_users_with_roles } from './Migration20261130000200_users_with_roles.ts'
import { Migration20261130000300_upstream_kinds } from './Migration20261130000300_upstream_kinds.ts'
import { Migration20261130000400_security_events } from './Migration20261130000400_security_events.ts'
import { Migration20261201000010_changes_written } from './Migration20261201000010_changes_written.ts'
import { Migration20261201000100_security_event_attempts } from './Migration20261201000100_security_event_attempts.ts'
import { Migration20261202000010_changes_writer } from './Migration20261202000010_changes_writer.ts'

export const migrations = [
  Migration20261121000000_kernel,
  Migration20261121000001_people,
  Migration20261121000002_throttles,
  Migration20261121000003_server_secrets,
  Migration20261121000004_code_created_at,
  Migration20261121000005_janitor,
  Migration20261121000006_client_search,
  Migration20261121000007_audit,
  Migration20261121000008_lists,
  Migration20261121000009_user_administration,
  Migration20261121000010_search_pages,
  Migration20261121000011_open_sessions,
  Migration20261121000012_opaque_handles,
  Migration20261121000013_code_proofs,
  Migration20261121000014_refresh_generations,
  Migration20261121000015_refresh_in_place,
  Migration20261121000016_refresh_without_spent,
  Migration20261123000010_consent_lines,
  Migration20261123000011_consent_ids,
  Migration20261123000030_seed_entries,
  Migration20261123000040_known_browsers,
  Migration20261123000050_owned_artifacts,
  Migration20261123000060_revoked_keys,
  Migration20261124000010_facts,
  Migration20261124000020_client_revision,
  Migration20261124000021_spent_handles,
  Migration20261124000030_pending_sessions,
  Migration20261124000031_user_records,
  Migration20261124000040_outbox,
  Migration20261124000050_self_registered,
  Migration20261124000080_email_keys,
  Migration20261124000090_upstreams,
  Migration20261124000100_plugin_records,
  Migration20261124000110_account_deletions,
  Migration20261124000120_declined_scopes,
  Migration20261124000130_upstream_sign_out,
  Migration20261125000200_bound_resources,
  Migration20261125000400_registration,
  Migration20261125000600_sealed_client_secrets,
  Migration20261125000610_certified_resources,
  Migration20261126000100_resource_aliases,
  Migration20261126000220_client_documents,
  Migration20261126000700_key_stores,
  Migration20261126000800_trusted_issuers,
  Migration20261126000840_session_clients,
  Migration20261126000880_trusted_issuer_uses,
  Migration20261126000881_exchanging_clients,
  Migration20261130000100_outbox_recipients,
  Migration20261130000200_users_with_roles,
  Migration20261130000300_upstream_kinds,
  Migration20261130000400_security_events,
  Migration20261201000010_changes_written,
  Migration20261201000100_security_event_attempts,
  Migration20261202000010_changes_writer,
]
