/** What every store of keys must do, whoever keeps them: our PKCS #11, a stranger's cloud. */
import { calculateJwkThumbprint, compactVerify, importJWK } from 'jose'
import assert from 'node:assert/strict'
import type { GeneratedKey, OpenKeyStore } from '../doors/key-store.ts'

/** `run` rejects where the store does something else. */
export interface Check {
  readonly name: string
  run(): Promise<void>
}

export interface KeyStoreChecksOptions {
  /** Opens the same store once more, as another process would. */
  open(): Promise<OpenKeyStore>
  /** JWS algorithms that it is known to have keys for; by default those that every server needs. */
  algorithms?: readonly string[]
}

/** Milliseconds for one call. */
const LIMIT = 60_000
const AT_ONCE = 40
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

const soon = (): AbortSignal => AbortSignal.timeout(LIMIT)

/** For each check a store is opened and closed again; the keys that it makes are withdrawn. */
export function keyStoreChecks({
  open,
  algorithms = ['ES256', 'RS256'],
}: KeyStoreChecksOptions): readonly Check[] {
  const checks: Check[] = []

  function check(name: string, work: (store: OpenKeyStore, made: Make) => Promise<void>): void {
    checks.push({
      name,
      async run() {
        const store = await open()
        const references: string[] = []
        try {
          await work(store, async (algorithm) => {
            const key = await store.generate(algorithm, soon())
            references.push(key.reference)
            return key
          })
          for (const reference of references) await store.withdraw(reference, soon())
        } finally {
          await store.close()
        }
      },
    })
  }

  check('it says for which algorithms it has keys', async (store) => {
    const can = await store.algorithms(soon())
    for (const algorithm of algorithms) assert.ok(can.includes(algorithm), `${algorithm} is missing`)
  })
  for (const algorithm of algorithms)
    check(`a stranger verifies what a key for ${algorithm} has signed`, async (store, make) => {
      const { reference, publicJwk } = await make(algorithm)
      assert.ok(reference.length > 0 && reference.length <= 1024, 'a reference has 1 to 1024 characters')
      for (const member of PRIVATE_MEMBERS) assert.ok(!(member in publicJwk), `its public part has ${member}`)
      assert.ok((await calculateJwkThumbprint(publicJwk)).length > 0)
      for (const claims of ['{}', JSON.stringify({ text: 'ü'.repeat(8_000) })])
        await assertSigns(store, { reference, publicJwk }, algorithm, claims)
    })
  check('many signatures at once are each of what was given', async (store, make) => {
    const key = await make(algorithms[0]!)
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_one, at) =>
        assertSigns(store, key, algorithms[0]!, JSON.stringify({ at })),
      ),
    )
  })
  check('another process signs with the same key, and lists it', async (store, make) => {
    const key = await make(algorithms[0]!)
    const other = await open()
    try {
      await assertSigns(other, key, algorithms[0]!, '{}')
      assert.ok((await other.list(soon())).includes(key.reference), 'it is not listed')
    } finally {
      await other.close()
    }
    // The end of one is not that of the other.
    await assertSigns(store, key, algorithms[0]!, '{}')
  })
  check('no two keys are the same', async (_store, make) => {
    const [one, two] = [await make(algorithms[0]!), await make(algorithms[0]!)]
    assert.notEqual(one.reference, two.reference)
    assert.notDeepEqual(one.publicJwk, two.publicJwk)
  })
  check('a key that was withdrawn signs nothing any more, for whoever asks', async (store, make) => {
    const [gone, stays] = [await make(algorithms[0]!), await make(algorithms[0]!)]
    const other = await open()
    try {
      await store.withdraw(gone.reference, soon())
      await store.withdraw(gone.reference, soon())
      for (const one of [store, other])
        await assert.rejects(one.sign(gone.reference, algorithms[0]!, Buffer.from('a'), soon()))
      const listed = await store.list(soon())
      assert.ok(!listed.includes(gone.reference) && listed.includes(stays.reference))
      await assertSigns(other, stays, algorithms[0]!, '{}')
    } finally {
      await other.close()
    }
  })
  check('what it does not have is refused', async (store, make) => {
    const { reference } = await make(algorithms[0]!)
    const foreign = reference.replace(/[0-9a-zA-Z]$/, (last) => (last === '0' ? '1' : '0'))
    await assert.rejects(store.sign(foreign, algorithms[0]!, Buffer.from('a'), soon()))
    await assert.rejects(store.generate('none', soon()))
    await assert.rejects(store.sign(reference, 'HS256', Buffer.from('a'), soon()))
  })
  check('it gives up when it is told to, and goes on after that', async (store, make) => {
    const key = await make(algorithms[0]!)
    await assert.rejects(store.sign(key.reference, algorithms[0]!, Buffer.from('a'), AbortSignal.abort()))
    await assertSigns(store, key, algorithms[0]!, '{}')
  })
  return checks
}

type Make = (algorithm: string) => Promise<GeneratedKey>

async function assertSigns(
  store: OpenKeyStore,
  { reference, publicJwk }: GeneratedKey,
  algorithm: string,
  claims: string,
): Promise<void> {
  const input = [JSON.stringify({ alg: algorithm }), claims]
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.')
  const signature = await store.sign(reference, algorithm, Buffer.from(input), soon())
  const jws = `${input}.${Buffer.from(signature).toString('base64url')}`
  const { payload } = await compactVerify(jws, await importJWK(publicJwk, algorithm))
  assert.equal(Buffer.from(payload).toString(), claims)
}
