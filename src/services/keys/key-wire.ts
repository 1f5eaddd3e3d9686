/** A signing key for programs, by the names of the wire: nothing of it that signs. */
import type { KeyRing } from './key-ring.ts'
import type { KeyRecord } from './ring-key.ts'

export type KeyOnWire = ReturnType<typeof keyToWire>

/** Instants are those of RFC 3339. */
export function keyToWire(keys: Pick<KeyRing, 'stateOf'>, key: KeyRecord) {
  return {
    kid: key.kid,
    alg: key.algorithm,
    state: keys.stateOf(key),
    store: key.store,
    created_at: instant(key.createdAt),
    signs_from: instant(key.signsFrom),
    retires_at: key.retiresAt === null ? null : instant(key.retiresAt),
  }
}

function instant(time: number): string {
  return new Date(time).toISOString()
}
