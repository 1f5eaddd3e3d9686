/**
 * Signing keys for servers that begin on a database without any: an RSA key takes as long as the rest of a start. A worker
 * makes a few and deals them out in turn, so that servers beside each other have keys of their own.
 */
import { generateSigningKey } from '../../src/services/keys/new-signing-key.ts'
import { createSecretBox } from '../../src/services/keys/secret-box.ts'
import type { TestDatabase } from './database.ts'

/** What a first start makes (`src/services/keys/key-ring.ts`). */
const ALGORITHMS = ['ES256', 'RS256']
/** More than any test has servers that must not know each other's keys. */
const SETS = 6

type SigningKeys = Awaited<ReturnType<typeof generateSigningKey>>[]

/** Of this worker; nothing is stored under it. */
const box = createSecretBox(['of the tests, for as long as they run'])
const sets: Promise<SigningKeys>[] = []
let turn = 0

/** The rows that a first start leaves, sealed under `secretKey`; without its audit events. */
export async function storeKeysMadeAhead({ query }: TestDatabase, secretKey: string): Promise<void> {
  const at = turn++ % SETS
  sets[at] ??= Promise.all(ALGORITHMS.map(async (algorithm) => generateSigningKey(algorithm, box)))
  const own = createSecretBox([secretKey])
  for (const { kid, algorithm, publicJwk, privateJwk } of await sets[at])
    await query(
      `insert into signing_keys (kid, algorithm, predecessor, public_jwk, private_jwk, signs_from)
        values ($1, $2, '', $3, $4, now())`,
      [kid, algorithm, publicJwk, own.seal(box.open(privateJwk, kid), kid)],
    )
}
