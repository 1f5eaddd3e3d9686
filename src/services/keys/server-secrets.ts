/**
 * Secrets that must never change, and so cannot be derived from SECRET_KEY, which is rotated: made at random when
 * first asked for, the same in every process, sealed in the database.
 */
import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import { ConfigError } from '../../config.ts'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/server-secrets.ts'
import type { SecretBox } from './secret-box.ts'

/** 256 bits by a name. Throws `ConfigError` when they cannot be decrypted. */
export type FindServerSecret = (name: string) => Promise<KeyObject>

/**
 * Brings all of them under the first SECRET_KEY, also those that nobody asks for now: else the former key would be needed
 * for ever. What cannot be decrypted is for whoever asks for it to say.
 * @internal
 */
export async function resealServerSecrets(database: Database, box: SecretBox): Promise<void> {
  for (const { name, sealed } of await database.query(statements.all)) {
    if (box.isCurrent(sealed)) continue
    const opened = attempt(() => box.open(sealed, name))
    if (opened !== undefined) await database.query(statements.reseal, [name, sealed, box.seal(opened, name)])
  }
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
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

  function open(name: string, sealed: string): string {
    try {
      return box.open(sealed, name)
    } catch (cause) {
      throw new ConfigError(box.misfit(`the secret ${name}`), { cause })
    }
  }

  return async (name) => {
    const sealed = await findSealed(name)
    const secret = open(name, sealed)
    if (!box.isCurrent(sealed))
      await database.query(statements.reseal, [name, sealed, box.seal(secret, name)])
    return createSecretKey(secret, 'base64url')
  }
}
