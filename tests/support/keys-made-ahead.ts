/**
 * Databases that have signing keys already: an RSA key takes as long as the rest of a start. A worker makes a few, each as a
 * template, and deals their clones out in turn, so that servers beside each other have keys of their own.
 */
import { randomBytes } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { createDatabaseKeys, sealedPartOf } from '../../src/services/keys/database-keys.ts'
import { createSecretBox } from '../../src/services/keys/secret-box.ts'
import { execute } from './connection.ts'
import { createDatabase, createTemplate, type TestDatabase } from './database.ts'

/** What a first start makes (`src/services/keys/key-ring.ts`). */
const ALGORITHMS = ['ES256', 'RS256']
/** More than any test has servers that must not know each other's keys. */
const SETS = 6

interface Keyed {
  /** The database that has them. */
  template: string
  /** Under which they are sealed. */
  secretKey: string
}

const sets: Promise<Keyed>[] = []
let turn = 0

/** A database with the rows that a first start leaves, without its audit events; and the SECRET_KEY of its server. */
export async function createKeyedDatabase(): Promise<{ database: TestDatabase; secretKey: string }> {
  const at = turn++ % SETS
  sets[at] ??= createKeyed()
  const { template, secretKey } = await sets[at]
  return { database: await createDatabase({ template }), secretKey }
}

async function createKeyed(): Promise<Keyed> {
  const secretKey = randomBytes(32).toString('hex')
  const store = createDatabaseKeys(createSecretBox([secretKey]))
  const keys = await Promise.all(
    ALGORITHMS.map(async (algorithm) => {
      const { reference, publicJwk } = await store.generate(algorithm, AbortSignal.timeout(60_000))
      const kid = await calculateJwkThumbprint(publicJwk)
      const published = { ...publicJwk, kid, use: 'sig', alg: algorithm }
      return { kid, algorithm, publicJwk: published, privateJwk: sealedPartOf(reference) }
    }),
  )
  const template = await createTemplate(async (url) => {
    for (const { kid, algorithm, publicJwk, privateJwk } of keys)
      await execute(
        url,
        `insert into signing_keys (kid, algorithm, predecessor, public_jwk, private_jwk, signs_from)
          values ($1, $2, '', $3, $4, now())`,
        [kid, algorithm, publicJwk, privateJwk],
      )
  })
  return { template, secretKey }
}
