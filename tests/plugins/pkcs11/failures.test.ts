/** What goes wrong with a token: settings, PINs, a module that crashes or hangs; and that no PIN is seen anywhere. */
import { readFile, writeFile } from 'node:fs/promises'
import { Type } from 'typebox'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openTokenStore } from '../../../plugins/pkcs11/store.ts'
import { parseTokenUri } from '../../../plugins/pkcs11/uri.ts'
import type { OpenKeyStore } from '../../../src/doors/key-store.ts'
import { settingsOf } from '../../../src/settings/setting-value.ts'
import { Settings } from '../../../src/settings/index.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { createDatabase } from '../../support/database.ts'
import { endTokenProcesses, tokenProcesses } from '../../support/key-stores.ts'
import { startServer } from '../../support/server.ts'
import { getAccessToken, SIGNED, toClient } from '../../support/service.ts'
import { createToken, softHsmModule } from '../../support/softhsm.ts'

const soon = () => AbortSignal.timeout(20_000)
const options = { issuer: 'https://login.example', atOnce: 4 }

test.each([
  ['pkcs11:', 'must say which token'],
  ['pkcs11:token=a', 'must say where the module'],
  ['pkcs11:token=a?module-path=softhsm.so', 'must say where the module'],
  ['pkcs11:token=a?module-path=/a.so&pin-value=4711', 'must not hold the PIN'],
  ['pkcs11:token=a?module-path=/a.so&pin-source=|cat', 'must have a pin-source'],
  ['pkcs11:token=a?module-path=/a.so&pin-source=file:pin', 'must have a pin-source'],
  ['pkcs11:token=a;object=b?module-path=/a.so', 'has object'],
  ['pkcs11:token=a;token=b?module-path=/a.so', 'a name twice'],
  ['pkcs11:token=%zz?module-path=/a.so', 'not percent-encoded'],
])('%s is refused', (uri, why) => {
  expect(() => parseTokenUri(uri)).toThrow(why)
  expect(() => parseTokenUri(uri)).not.toThrow('4711')
})

test('an address is read as RFC 7512 has it', () => {
  const uri = 'pkcs11:token=The%20Software%20PKCS%2311%20Softtoken;serial=1?module-path=/a.so&pin-source=file:///etc/pin'
  expect(parseTokenUri(uri)).toEqual({
    token: { token: 'The Software PKCS#11 Softtoken', serial: '1' },
    modulePath: '/a.so',
    pinFile: '/etc/pin',
  })
}) // prettier-ignore

test('a start with what cannot work ends with a sentence', async () => {
  const refused = async (KEYS: string, sentence: string) =>
    expect(startServer({ KEYS })).rejects.toThrow(sentence)
  await refused('hsm:token=a', 'KEYS must list database, pkcs11:…; it has "hsm:".')
  await refused('databse', 'KEYS must list database, pkcs11:…; it has "databse".')
  await refused('pkcs11:token=a?module-path=/no/such.so', 'the module /no/such.so cannot be used')
  await refused('pkcs11:token=a?module-path=/a.so&pin-source=/no/such/pin', 'the PIN cannot be read from /no/such/pin')
}) // prettier-ignore

describe.skipIf(softHsmModule === undefined)('with a token', () => {
  test('a wrong PIN is tried once, and another one when the file has it', async () => {
    const { uri, pin, pinFile, label } = await createToken()
    await writeFile(pinFile, '0000\n')
    await expect(startServer({ KEYS: uri })).rejects.toThrow('the token refused the PIN (C_Login returned CKR_PIN_INCORRECT)')
    const store = await openTokenStore(uri, options, undefined)
    await expect(store.algorithms(soon())).rejects.toThrow('CKR_PIN_INCORRECT')
    const began = await tokenProcesses()
    await expect(store.algorithms(soon())).rejects.toThrow('The same PIN is not tried again')
    // Those before may just be ending.
    expect(began).toEqual(expect.arrayContaining(await tokenProcesses()))
    await writeFile(pinFile, `${pin}\n`)
    await expect.poll(async () => store.algorithms(soon()).catch(() => [])).toContain('ES256')
    await store.close()
    const named = `pkcs11:token=${label}?module-path=${softHsmModule}`
    await expect(openTokenStore(uri, options, pin)).rejects.toThrow('one of them is enough')
    const bySetting = await openTokenStore(named, options, pin)
    expect(await bySetting.algorithms(soon())).toContain('ES256')
    await bySetting.close()
    const without = await openTokenStore(named, options, undefined)
    await expect(without.algorithms(soon())).rejects.toThrow('the token wants a PIN')
    await without.close()
  }) // prettier-ignore

  test('the PIN is in no command line, no environment of the process that has the token, and no log', async () => {
    const { uri, pin, pinFile } = await createToken()
    const server = await startServer({ KEYS: uri }, { database: await createDatabase() })
    const processes = await tokenProcesses()
    expect(processes).toHaveLength(1)
    for (const pid of processes)
      for (const file of ['cmdline', 'environ']) {
        const text = await readFile(`/proc/${pid}/${file}`, 'utf8')
        expect(text).not.toContain(pin)
        expect(text).not.toContain(pinFile)
        expect(text).not.toMatch(/SECRET_KEY|DATABASE_URL/)
      }
    expect(server.output()).not.toContain(pin)
    await server.close()
    await expect.poll(async () => tokenProcesses()).toEqual([])
  })

  test('no secret of the server or of a plugin is in the environment of that process', async () => {
    const { uri } = await createToken()
    const own = Type.Object({ VOUCHER_KEY: Type.String({ secret: true, description: 'what vouchers are signed with' }) })
    const secrets = [...settingsOf(Settings), ...settingsOf(own)].filter(([, { secret }]) => secret).map(([name]) => name)
    for (const name of secrets) for (const variable of [name, `${name}_FILE`]) vi.stubEnv(variable, 'ours alone')
    onTestFinished(() => void vi.unstubAllEnvs())
    vi.stubEnv('OF_EVERYBODY', 'for everybody')
    const server = await startServer(
      { KEYS: uri, VOUCHER_KEY: 'ours alone' },
      { database: await createDatabase(), extend: (app) => void app.oauth.settings(own) },
    )
    const [pid] = await tokenProcesses()
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8')
    expect(environment).toContain('OF_EVERYBODY=for everybody')
    expect(environment.split('\0').filter((one) => one.includes('ours alone'))).toEqual([])
    await server.close()
    await expect.poll(async () => tokenProcesses()).toEqual([])
  }) // prettier-ignore

  async function withStore(work: (store: OpenKeyStore, reference: string) => Promise<void>): Promise<void> {
    const { uri } = await createToken()
    const store = await openTokenStore(uri, options, undefined)
    try {
      const { reference } = await store.generate('ES256', soon())
      await work(store, reference)
    } finally {
      await store.close()
    }
  }
  const sign = async (store: OpenKeyStore, reference: string, signal = soon()) =>
    store.sign(reference, 'ES256', Buffer.from('input'), signal)

  test('a module that crashes costs nobody a signature', async () =>
    withStore(async (store, reference) => {
      for (let times = 0; times < 3; times++) {
        await endTokenProcesses('SIGSEGV')
        expect(await Promise.all([1, 2, 3].map(async () => sign(store, reference)))).toHaveLength(3)
      }
    }), 60_000) // prettier-ignore

  test('one that hangs is ended when the time is up, and the next signature is another process’s', async () =>
    withStore(async (store, reference) => {
      await endTokenProcesses('SIGSTOP')
      const [hung] = await tokenProcesses()
      await expect(sign(store, reference, AbortSignal.timeout(1_000))).rejects.toThrow('did not answer')
      expect(await sign(store, reference)).toHaveLength(64)
      expect(await tokenProcesses()).not.toContain(hung)
    }), 60_000) // prettier-ignore

  test('a server whose token hangs answers 503 within seconds, then at once, and goes on by itself', async () => {
    const { uri } = await createToken()
    const database = await createDatabase()
    const server = await startServer({ KEYS: uri }, { database, seed: { clients: [SIGNED] } })
    const client = toClient(SIGNED)
    await getAccessToken(server, client)
    await endTokenProcesses('SIGSTOP')
    const ask = async () => (await server.post('/token', { grant_type: 'client_credentials' }, client.basic)).status
    expect(new Set(await Promise.all(Array.from({ length: 10 }, ask)))).toEqual(new Set([503]))
    await expect.poll(ask).toBe(200)
    await expect.poll(() => kernelOf(server.server).keys.troubles()).toEqual([])
    await server.close()
  }) // prettier-ignore

  test('a key that somebody deletes in the token disturbs no other', async () =>
    withStore(async (store, reference) => {
      const { reference: gone } = await store.generate('ES256', soon())
      await store.withdraw(gone, soon())
      const [before] = await tokenProcesses()
      await expect(sign(store, gone)).rejects.toThrow(`the token has no key of the CKA_ID ${gone}`)
      expect(await sign(store, reference)).toHaveLength(64)
      expect(await tokenProcesses()).toEqual([before])
    }), 60_000) // prettier-ignore
})
