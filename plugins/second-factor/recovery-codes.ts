/** Recovery codes: ten, for who has lost the factor. Each is good once; what is stored are their hashes, encrypted. */
import { hash, randomBytes } from 'node:crypto'
import { isSameHash } from '../../src/protocol/handle.ts'
import { plainCode } from '../../src/protocol/typed-code.ts'
import { UnreadableError } from '../../src/services/keys/secret-box.ts'
import type { Kernel } from '../../src/services/kernel.ts'
import { setSole } from '../../src/services/users/sole-record.ts'

export interface RecoveryCodes {
  /** New ones in the place of all that the user had. */
  make(userId: string): Promise<readonly string[]>
  /** How many are left, 0 where no SECRET_KEY fits them any more; null where none were ever made. */
  left(userId: string): Promise<number | null>
  /** Whether any of them is still good. */
  areGood(userId: string, codes: readonly string[]): Promise<boolean>
  /** Whether it is one of theirs, and was not used: it is from here on. */
  spend(userId: string, code: string): Promise<boolean>
  remove(userId: string): Promise<void>
}

const COUNT = 10
/** Of 32 each: 50 bits. */
const LETTERS = 10
const ID = 'codes'
const TRIES = 5
/** Without letters that are taken for digits (Crockford's base 32). */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

interface Stored {
  readonly hashes: readonly string[]
}

export function createRecoveryCodes({ users }: Kernel): RecoveryCodes {
  const records = users.records<Stored>('recovery-codes', {
    sealed: true,
    factor: 'spare',
    describe: ({ hashes }) => ({ left: hashes.length }),
  })

  /** None where no key fits them any more. */
  async function hashesOf(userId: string): Promise<readonly string[] | undefined> {
    try {
      return (await records.get(userId, ID))?.value.hashes
    } catch (error) {
      if (error instanceof UnreadableError) return []
      throw error
    }
  }

  return {
    async make(userId) {
      const codes = Array.from({ length: COUNT }, newCode)
      const value = { hashes: codes.map((code) => hashOf(userId, code)) }
      const event = { type: 'user.recovery_codes_made', user: userId, details: { count: COUNT } } as const
      await setSole(records, userId, ID, value, event)
      return codes
    },
    left: async (userId) => (await hashesOf(userId))?.length ?? null,
    async areGood(userId, codes) {
      const hashes = new Set(await hashesOf(userId))
      return codes.some((code) => hashes.has(hashOf(userId, code)))
    },
    async spend(userId, code) {
      for (let tries = 0; tries < TRIES; tries++) {
        const had = await records.get(userId, ID)
        const spent = hashOf(userId, code)
        const hashes = had?.value.hashes.filter((one) => !isSameHash(one, spent)) ?? []
        if (had === null || hashes.length === had.value.hashes.length) return false
        const details = { left: hashes.length }
        const event = { type: 'user.recovery_code_used', user: userId, details } as const
        if (await records.replace(userId, had, { hashes }, event)) return true
      }
      return false
    },
    async remove(userId) {
      await records.delete(userId, ID)
    },
  }
}

function newCode(): string {
  const letters = [...randomBytes(LETTERS)].map((byte) => ALPHABET[byte % 32]!).join('')
  return `${letters.slice(0, LETTERS / 2)}-${letters.slice(LETTERS / 2)}`
}

/** However it was typed. */
function hashOf(userId: string, code: string): string {
  const letters = plainCode(code)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
  const plain = letters.replaceAll('o', '0').replaceAll(/[il]/g, '1')
  return hash('sha256', `recovery code\0${userId}\0${plain}`, 'base64url')
}
