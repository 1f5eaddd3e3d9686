/**
 * For tests of plugins that keep signing keys: what the server relies on in a store of keys, as checks for any test runner. The
 * package's entry `latchkey/testing`.
 */
export { keyStoreChecks, type Check, type KeyStoreChecksOptions } from './testing/key-store-checks.ts'
export type { GeneratedKey, KeyStore, KeyStoreOptions, OpenKeyStore } from './doors/key-store.ts'
