/** The one slow hash, for what people choose: its parameters, and what is compared with where there is no hash. */
import argon2 from 'argon2'
import { randomBytes } from 'node:crypto'

/** OWASP's parameters: 19 MiB, two passes, one lane. */
const PARAMETERS = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

let absent: Promise<string> | undefined

export const argon2id = {
  recognizes: (hash: string): boolean => hash.startsWith('$argon2'),
  hash: async (value: string): Promise<string> => argon2.hash(value, PARAMETERS),
  verify: async (hash: string, value: string): Promise<boolean> => argon2.verify(hash, value),
  /** Whether it was made with other parameters than ours of today. */
  isOutdated: (hash: string): boolean => argon2.needsRehash(hash, PARAMETERS),
  /** The hash of something that nobody knows: verifying against it takes the usual time and fails. */
  absent: async (): Promise<string> =>
    (absent ??= argon2.hash(randomBytes(32).toString('base64url'), PARAMETERS)),
}
