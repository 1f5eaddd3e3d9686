/** A PKCS #11 token as a store of keys: what every store must do, on SoftHSM. */
import { expect, test } from 'vitest'
import { openTokenStore } from '../../../plugins/pkcs11/store.ts'
import { keyStoreChecks } from '../../../src/testing.ts'
import { createToken, softHsmModule } from '../../support/softhsm.ts'

const options = { issuer: 'https://login.example', atOnce: 8 }
const ALGORITHMS = ['RS256', 'ES256', 'PS256', 'EdDSA', 'ES384', 'ES512']

if (softHsmModule !== undefined) {
  const { uri } = await createToken()
  const open = async () => openTokenStore(uri, options, undefined)
  for (const { name, run } of keyStoreChecks({ open, algorithms: ALGORITHMS })) test(name, run, 60_000)
}

test.skipIf(softHsmModule === undefined)('a token is there to be tested', () => {
  expect(softHsmModule).toBeDefined()
})
