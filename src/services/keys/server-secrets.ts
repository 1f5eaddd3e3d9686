/**
 * Secrets that must never change, and so cannot be derived from SECRET_KEY, which is rotated: made at random when
 * first asked for, the same in every process, sealed in the database.
 */
import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/server-secrets.ts'
import type { SecretBox } from './secret-box.ts'

/** 256 bits by a name. Throws `UnreadableError` when they cannot be decrypted. */
export type FindServerSecret = (name: string) => Promise<KeyObject>

/**
 * Brings all of them under the first SECRET_KEY, also those that nobody asks for now: else the former key would be needed
 * for ever. What cannot be decrypted is for whoever asks for it to say.
 * @internal
 */
export async function resealServerSecrets(database: Database, box: SecretBox): Promise<void> {
  for (const { name, sealed } of await database.query(statements.all)) {
    if (box.isCurrent(sealed)) continue
    const opened = box.tryOpen(sealed, name)
    if (opened !== null) await database.query(statements.reseal, [name, sealed, box.seal(opened, name)])
  }
}

/** @internal */
export function createServerSecrets(database: Database, box: SecretBox): FindServerSecret {
  async function findSealed(name: string): Promise<string> {
    const [found] = await database.query(statements.find, [name])
    if (found !== undefined) return found.sealed
    await database.query(statements.insert, [name, box.seal(randomBytes(32).toString('base64url'), name)])
    return findSealed(name)
  }

  return async (name) => {
    const sealed = await findSealed(name)
    const secret = box.open(sealed, name, `the secret ${name}`)
    if (!box.isCurrent(sealed))
      await database.query(statements.reseal, [name, sealed, box.seal(secret, name)])
    return createSecretKey(secret, 'base64url')
  }
}
