/** What `all.ts` lists, by name: whoever only asks what is missing needs no migrator. */
export const migrationNames = [
  'Migration20261121000000_kernel',
  'Migration20261121000001_people',
  'Migration20261121000002_throttles',
  'Migration20261121000003_server_secrets',
  'Migration20261121000004_code_created_at',
  'Migration20261121000005_janitor',
  'Migration20261121000006_client_search',
  'Migration20261121000007_audit',
  'Migration20261121000008_lists',
  'Migration20261121000009_user_administration',
  'Migration20261121000010_search_pages',
  'Migration20261121000011_open_sessions',
  'Migration20261121000012_opaque_handles',
  'Migration20261121000013_code_proofs',
  'Migration20261121000014_refresh_generations',
  'Migration20261121000015_refresh_in_place',
  'Migration20261121000016_refresh_without_spent',
  'Migration20261123000010_consent_lines',
  'Migration20261123000011_consent_ids',
  'Migration20261123000030_seed_entries',
  'Migration20261123000040_known_browsers',
  'Migration20261123000050_owned_artifacts',
  'Migration20261123000060_revoked_keys',
  'Migration20261124000010_facts',
  'Migration20261124000020_client_revision',
  'Migration20261124000021_spent_handles',
  'Migration20261124000030_pending_sessions',
  'Migration20261124000031_user_records',
  'Migration20261124000040_outbox',
  'Migration20261124000050_self_registered',
  'Migration20261124000080_email_keys',
  'Migration20261124000090_upstreams',
  'Migration20261124000100_plugin_records',
  'Migration20261124000110_account_deletions',
  'Migration20261124000120_declined_scopes',
  'Migration20261124000130_upstream_sign_out',
  'Migration20261125000200_bound_resources',
  'Migration20261125000400_registration',
  'Migration20261125000600_sealed_client_secrets',
  'Migration20261125000610_certified_resources',
  'Migration20261126000100_resource_aliases',
  'Migration20261126000220_client_documents',
  'Migration20261126000700_key_stores',
  'Migration20261126000800_trusted_issuers',
  'Migration20261126000840_session_clients',
  'Migration20261126000880_trusted_issuer_uses',
  'Migration20261126000881_exchanging_clients',
  'Migration20261130000100_outbox_recipients',
  'Migration20261130000200_users_with_roles',
  'Migration20261130000300_upstream_kinds',
  'Migration20261130000400_security_events',
  'Migration20261201000010_changes_written',
]

/** The version that these are of, as package.json says it. With the next one, `oldestBeside` moves: CONTRIBUTING.md, Release. */
export const versionHere = '0.1.0'

/**
 * The last of the version before that, which may run beside this schema; older ones may not, since what they still used
 * may be gone.
 */
export const oldestBeside = 'Migration20261121000016_refresh_without_spent'
