/** The one slow hash, for what people choose: its parameters, and what is compared with where there is no hash. */
import argon2 from 'argon2'
import { randomBytes } from 'node:crypto'
import { LEAST_HASH_MEMORY } from '../../settings/units.ts'

export interface Argon2id {
  recognizes(hash: string): boolean
  hash(value: string): Promise<string>
  verify(hash: string, value: string): Promise<boolean>
  /** Whether it was made with other parameters than ours of today. */
  isOutdated(hash: string): boolean
  /** The hash of something that nobody knows: verifying against it takes the usual time and fails. */
  absent(): Promise<string>
}

/** New hashes take `memoryCost` KiB; those that are stored, what they were made with. */
export function createArgon2id(memoryCost: number = LEAST_HASH_MEMORY): Argon2id {
  const parameters = { type: argon2.argon2id, memoryCost, timeCost: 2, parallelism: 1 } as const
  let absent: Promise<string> | undefined
  return {
    recognizes: (hash) => hash.startsWith('$argon2'),
    hash: async (value) => argon2.hash(value, parameters),
    verify: async (hash, value) => argon2.verify(hash, value),
    isOutdated: (hash) => argon2.needsRehash(hash, parameters),
    absent: async () => (absent ??= argon2.hash(randomBytes(32).toString('base64url'), parameters)),
  }
}
