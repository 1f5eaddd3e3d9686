/**
 * The functions of a PKCS #11 module (Cryptoki 2.40 §5) that signing needs, called by koffi. What they are asked for stands in
 * `token.ts`. It runs in a process of its own, so that a module that hangs or crashes takes no server with it.
 */
import type * as Koffi from 'koffi'
import {
  mechanismOf,
  templateOf,
  textAt,
  ulong,
  ulongAt,
  WORD,
  type Attribute,
  type Mechanism,
} from './memory.ts'
import { CryptokiError } from './returned.ts'

export interface TokenInfo {
  readonly token: string
  readonly manufacturer: string
  readonly model: string
  readonly serial: string
  readonly flags: number
}

export interface Cryptoki {
  /** Slots that have a token. */
  slots(): number[]
  tokenInfo(slot: number): TokenInfo
  mechanisms(slot: number): number[]
  /** As the mechanism counts it: bits, for those that we use. */
  largestKey(slot: number, mechanism: number): number
  openSession(slot: number): number
  /** As the user; with null where the token asks for the PIN by itself. */
  login(session: number, pin: Buffer | null): void
  /** Handles, 100 at most. */
  find(session: number, template: readonly Attribute[]): number[]
  value(session: number, object: number, type: number): Buffer
  destroy(session: number, object: number): void
  /** Handles of the public and of the private key. */
  generate(
    session: number,
    mechanism: Mechanism,
    publicOnes: readonly Attribute[],
    privateOnes: readonly Attribute[],
  ): Promise<[number, number]>
  sign(session: number, mechanism: Mechanism, key: number, input: Buffer): Promise<Buffer>
}

/** Where functions stand in CK_FUNCTION_LIST (§3.6), behind its version; and how many arguments each has. */
const FUNCTIONS = {
  C_Initialize: [0, 1],
  C_GetSlotList: [4, 3],
  C_GetTokenInfo: [6, 2],
  C_GetMechanismList: [7, 3],
  C_GetMechanismInfo: [8, 3],
  C_OpenSession: [12, 5],
  C_Login: [18, 4],
  C_DestroyObject: [22, 2],
  C_GetAttributeValue: [24, 4],
  C_FindObjectsInit: [26, 3],
  C_FindObjects: [27, 4],
  C_FindObjectsFinal: [28, 1],
  C_SignInit: [42, 3],
  C_Sign: [43, 5],
  C_GenerateKeyPair: [59, 8],
} as const
type Name = keyof typeof FUNCTIONS

/** C_Initialize: many threads, locked by what the system has. C_OpenSession: serial, read-write. C_Login: CKU_USER. */
const [OS_LOCKING_OK, SERIAL_RW, USER] = [2, 6, 1]
/** Bytes: a signature by an RSA key of 8192 bits. */
const LONGEST_SIGNATURE = 1024
const FOUND_AT_ONCE = 100
/** Bytes of CK_TOKEN_INFO, and more. */
const TOKEN_INFO = 256

/** A number, memory that is pointed at, or nothing. */
type Argument = number | Buffer | null
type Callable = ((...values: readonly unknown[]) => number) & {
  async(...values: readonly unknown[]): void
}

/** Throws where the module cannot be loaded, or does not begin. */
export function loadCryptoki(koffi: typeof Koffi, modulePath: string): Cryptoki {
  const lib = koffi.load(modulePath)
  const word = koffi.sizeof('void *')
  if (word !== WORD || koffi.sizeof('unsigned long') !== WORD)
    throw new Error('PKCS #11 modules are for 64-bit systems other than Windows here')
  const addressOf = (memory: Buffer): bigint => koffi.address(memory)

  const list = Buffer.alloc(WORD)
  const getList = lib.func('C_GetFunctionList', 'unsigned long', ['void *']) as unknown as Callable
  check('C_GetFunctionList', getList(list))
  const functions = list.readBigUInt64LE()

  const bound = new Map<Name, Callable>()
  function bind(name: Name): Callable {
    const [at, count] = FUNCTIONS[name]
    const known = bound.get(name)
    if (known !== undefined) return known
    const pointer: unknown = koffi.decode(functions, WORD * (1 + at), 'void *')
    // Each argument is as long as a pointer, and is given as one.
    const type = koffi.proto(
      'unsigned long',
      Array.from({ length: count }, () => 'uintptr_t'),
    )
    const callable = koffi.decode(pointer, type) as Callable
    bound.set(name, callable)
    return callable
  }
  const toWord = (value: Argument): bigint | number =>
    value === null ? 0 : typeof value === 'number' ? value : addressOf(value)

  function call(name: Name, ...values: readonly Argument[]): void {
    check(name, bind(name)(...values.map(toWord)))
  }

  /** What threads read must not be collected meanwhile. */
  const kept = new Set<readonly unknown[]>()
  /** In a thread: hardware takes its time. `keep` is what the arguments point at. */
  async function callBehind(name: Name, values: readonly Argument[], keep: readonly unknown[]): Promise<void> {
    const held = [values, keep]
    kept.add(held)
    return new Promise((resolve, reject) => {
      bind(name).async(...values.map(toWord), (error: Error | null, returned: number) => {
        kept.delete(held)
        if (error !== null) reject(error)
        else if (returned === 0) resolve()
        else reject(new CryptokiError(name, returned))
      })
    })
  } // prettier-ignore

  call('C_Initialize', ulong(0, 0, 0, 0, OS_LOCKING_OK, 0))

  /** By the way of §5.2: how many there are, then all of them. */
  function listOf(name: 'C_GetSlotList' | 'C_GetMechanismList', first: number): number[] {
    const count = ulong(0)
    call(name, first, null, count)
    const memory = Buffer.alloc(WORD * (ulongAt(count, 0) + 1))
    call(name, first, memory, count)
    return Array.from({ length: ulongAt(count, 0) }, (_one, at) => ulongAt(memory, at))
  }

  return {
    slots: () => listOf('C_GetSlotList', 1),
    tokenInfo(slot) {
      const info = Buffer.alloc(TOKEN_INFO)
      call('C_GetTokenInfo', slot, info)
      return {
        token: textAt(info, 0, 32),
        manufacturer: textAt(info, 32, 32),
        model: textAt(info, 64, 16),
        serial: textAt(info, 80, 16),
        flags: Number(info.readBigUInt64LE(96)),
      }
    },
    mechanisms: (slot) => listOf('C_GetMechanismList', slot),
    largestKey(slot, mechanism) {
      const info = ulong(0, 0, 0)
      call('C_GetMechanismInfo', slot, mechanism, info)
      return ulongAt(info, 1)
    },
    openSession(slot) {
      const session = ulong(0)
      call('C_OpenSession', slot, SERIAL_RW, null, null, session)
      return ulongAt(session, 0)
    },
    login: (session, pin) => call('C_Login', session, USER, pin, pin?.length ?? 0),
    find(session, template) {
      call('C_FindObjectsInit', session, templateOf(template, addressOf), template.length)
      try {
        const [found, count] = [Buffer.alloc(WORD * FOUND_AT_ONCE), ulong(0)]
        call('C_FindObjects', session, found, FOUND_AT_ONCE, count)
        return Array.from({ length: ulongAt(count, 0) }, (_one, at) => ulongAt(found, at))
      } finally {
        call('C_FindObjectsFinal', session)
      }
    },
    value(session, object, type) {
      const asked = ulong(type, 0, 0)
      call('C_GetAttributeValue', session, object, asked, 1)
      const value = Buffer.alloc(ulongAt(asked, 2))
      const filled = templateOf([[type, value]], addressOf)
      call('C_GetAttributeValue', session, object, filled, 1)
      return value.subarray(0, ulongAt(filled, 2))
    },
    destroy: (session, object) => call('C_DestroyObject', session, object),
    async generate(session, mechanism, publicOnes, privateOnes) {
      const [publicKey, privateKey] = [ulong(0), ulong(0)]
      const [ofPublic, ofPrivate] = [templateOf(publicOnes, addressOf), templateOf(privateOnes, addressOf)]
      await callBehind(
        'C_GenerateKeyPair',
        [
          session,
          mechanismOf(mechanism, addressOf),
          ofPublic,
          publicOnes.length,
          ofPrivate,
          privateOnes.length,
          publicKey,
          privateKey,
        ],
        [mechanism, publicOnes, privateOnes],
      )
      return [ulongAt(publicKey, 0), ulongAt(privateKey, 0)]
    },
    async sign(session, mechanism, key, input) {
      await callBehind('C_SignInit', [session, mechanismOf(mechanism, addressOf), key], [mechanism])
      const [signature, length] = [Buffer.alloc(LONGEST_SIGNATURE), ulong(LONGEST_SIGNATURE)]
      await callBehind('C_Sign', [session, input, input.length, signature, length], [])
      return signature.subarray(0, ulongAt(length, 0))
    },
  }
}

function check(called: string, returned: number): void {
  if (returned !== 0) throw new CryptokiError(called, returned)
}
