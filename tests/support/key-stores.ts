/** The stores in which signing keys may be, for tests that hold for all of them, and how each goes away and comes back. */
import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { openTokenStore } from '../../plugins/pkcs11/store.ts'
import { childrenOf } from './children.ts'
import { startCloudKms } from './cloud-kms.ts'
import type { Settings } from './settings.ts'
import { AWAY, createToken, softHsmModule, tokenDirectory } from './softhsm.ts'

export interface KeyPlace {
  /** As the keys' `store` has it. */
  readonly store: string
  readonly settings: Settings
  /** Its references of this issuer's keys. */
  listed(issuer: string): Promise<readonly string[]>
  /** From now on nobody reaches it. */
  goAway(): Promise<void>
  comeBack(): Promise<void>
}

async function softHsm(): Promise<KeyPlace> {
  const { uri } = await createToken()
  const place = await tokenDirectory()
  const [here, away] = [join(place, 'tokens'), join(place, AWAY)]
  return {
    store: uri.split('?')[0]!,
    settings: { KEYS: uri },
    async listed(issuer) {
      const store = await openTokenStore(uri, { issuer, atOnce: 1 }, undefined)
      try {
        return await store.list(AbortSignal.timeout(10_000))
      } finally {
        await store.close()
      }
    },
    async goAway() {
      await rename(here, away)
      await endTokenProcesses()
    },
    comeBack: async () => rename(away, here),
  }
}

async function cloud(): Promise<KeyPlace> {
  const kms = await startCloudKms()
  return {
    store: kms.uri,
    settings: kms.settings,
    listed: kms.listed,
    goAway: kms.stop,
    comeBack: kms.start,
  }
}

/** Processes of ours, and of the servers that we have started, that have a token open. */
export async function tokenProcesses(): Promise<number[]> {
  const found: number[] = []
  for (const pid of await childrenOf(process.pid)) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (command.includes('pkcs11/process/main')) found.push(pid)
  }
  return found
}

export async function endTokenProcesses(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  for (const pid of await tokenProcesses()) process.kill(pid, signal)
}

/** By what each is called in tests. */
export const OTHER_STORES: readonly (readonly [name: string, set: () => Promise<KeyPlace>])[] = [
  ...(softHsmModule === undefined ? [] : [['a PKCS #11 token', softHsm] as const]),
  ['a service of somebody else', cloud],
]
