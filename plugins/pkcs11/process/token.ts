/** What a token does for us, in its own terms: it is found and opened, and makes, signs with and ends keys that never leave it. */
import { randomBytes } from 'node:crypto'
import { CKA, CKO, TOKEN_ALGORITHMS, type TokenAlgorithm } from './algorithms.ts'
import type { Cryptoki, TokenInfo } from './cryptoki.ts'
import { bool, ulong, type Attribute } from './memory.ts'
import { CKR, CryptokiError, OF_PINS } from './returned.ts'

export interface TokenOptions {
  /** What it must say of itself, by the names of RFC 7512 §2.3. */
  readonly token: Readonly<Record<string, string>>
  readonly pin: string | undefined
  /** CKA_LABEL of our keys. */
  readonly label: string
}

export interface Token {
  algorithms(): string[]
  generate(algorithm: string): Promise<{ reference: string; publicJwk: Readonly<Record<string, string>> }>
  sign(reference: string, algorithm: string, input: Uint8Array): Promise<Buffer>
  withdraw(reference: string): void
  list(): string[]
}

/** `config` and `pin` are for somebody to mend; what is `away` may come back, and a key that is `gone` may be of another token. */
export type Kind = 'config' | 'pin' | 'away' | 'gone'

export class TokenProblem extends Error {
  readonly kind: Kind

  constructor(kind: Kind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

/** Of a token (§3.4). */
const CKF = {
  LOGIN_REQUIRED: 0x4,
  PROTECTED_AUTHENTICATION_PATH: 0x100,
  USER_PIN_FINAL_TRY: 0x20000,
  USER_PIN_LOCKED: 0x40000,
} as const
/** Bytes of a CKA_ID. */
const ID_BYTES = 16

export function openToken(cryptoki: Cryptoki, { token, pin, label }: TokenOptions): Token {
  const { slot, info } = findSlot(cryptoki, token)
  const main = cryptoki.openSession(slot)
  logIn(cryptoki, main, info, pin)

  const mechanisms = new Set(cryptoki.mechanisms(slot))
  const named: Attribute = [CKA.LABEL, Buffer.from(label)]
  const handles = new Map<string, number>()
  const free: number[] = []
  const waiting: ((session: number) => void)[] = []
  let open = 0

  function can({ makes, signs, bits }: TokenAlgorithm): boolean {
    if (!mechanisms.has(makes) || !mechanisms.has(signs.mechanism)) return false
    return bits === undefined || cryptoki.largestKey(slot, signs.mechanism) >= bits
  }

  function algorithmOf(name: string): TokenAlgorithm {
    const algorithm = TOKEN_ALGORITHMS.get(name)
    if (algorithm === undefined || !can(algorithm)) throw new Error(`the token has no ${name}`)
    return algorithm
  }

  /** One signature at a time is under way in each. A token that has no more of them is waited for. */
  async function takeSession(): Promise<number> {
    const session = free.pop()
    if (session !== undefined) return session
    try {
      const opened = cryptoki.openSession(slot)
      open++
      return opened
    } catch (error) {
      if (open === 0 || (error as Partial<CryptokiError>).returned !== CKR.SESSION_COUNT) throw error
      return new Promise((resolve) => waiting.push(resolve))
    }
  }

  function giveBack(session: number): void {
    const next = waiting.shift()
    if (next === undefined) free.push(session)
    else next(session)
  }

  const objectsOf = (kind: number, reference: string): number[] =>
    cryptoki.find(main, [
      [CKA.CLASS, ulong(kind)],
      [CKA.TOKEN, bool(true)],
      [CKA.ID, Buffer.from(reference, 'hex')],
    ])

  function privateKeyOf(reference: string): number {
    const known = handles.get(reference)
    if (known !== undefined) return known
    const [found] = objectsOf(CKO.PRIVATE_KEY, reference)
    if (found === undefined) throw new TokenProblem('gone', `the token has no key of the CKA_ID ${reference}`)
    handles.set(reference, found)
    return found
  }

  async function makePair({ makes, shapes }: TokenAlgorithm, own: readonly Attribute[]): Promise<[number, number]> {
    const hidden: Attribute[] = [[CKA.PRIVATE, bool(true)], [CKA.SENSITIVE, bool(true)], [CKA.EXTRACTABLE, bool(false)]]
    const ofPrivate: Attribute[] = [...own, ...hidden, [CKA.SIGN, bool(true)]]
    for (const [at, shape] of shapes.entries()) {
      try {
        const ofPublic: Attribute[] = [...own, [CKA.PRIVATE, bool(false)], [CKA.VERIFY, bool(true)], ...shape]
        return await cryptoki.generate(main, { mechanism: makes, parameter: null }, ofPublic, ofPrivate)
      } catch (error) {
        if (at === shapes.length - 1 || !(error instanceof CryptokiError)) throw error
      }
    }
    throw new Error('there is no such key')
  } // prettier-ignore

  function withdraw(reference: string): void {
    handles.delete(reference)
    for (const kind of [CKO.PRIVATE_KEY, CKO.PUBLIC_KEY])
      for (const object of objectsOf(kind, reference)) cryptoki.destroy(main, object)
  }

  return {
    algorithms: () => [...TOKEN_ALGORITHMS].filter(([, one]) => can(one)).map(([name]) => name),
    async generate(name) {
      const algorithm = algorithmOf(name)
      const id = randomBytes(ID_BYTES)
      const reference = id.toString('hex')
      const [publicKey, privateKey] = await makePair(algorithm, [
        [CKA.TOKEN, bool(true)],
        [CKA.ID, id],
        named,
      ])
      try {
        if (cryptoki.value(main, privateKey, CKA.EXTRACTABLE)[0] !== 0)
          throw new Error('the token made a key that could leave it')
        handles.set(reference, privateKey)
        return { reference, publicJwk: algorithm.jwk((type) => cryptoki.value(main, publicKey, type)) }
      } catch (error) {
        withdraw(reference)
        throw error
      }
    },
    async sign(reference, name, input) {
      const { signs, prepare } = algorithmOf(name)
      const key = privateKeyOf(reference)
      const session = await takeSession()
      try {
        return await cryptoki.sign(session, signs, key, prepare(input))
      } finally {
        giveBack(session)
      }
    },
    withdraw,
    list() {
      const own: Attribute[] = [[CKA.CLASS, ulong(CKO.PRIVATE_KEY)], [CKA.TOKEN, bool(true)], named]
      return cryptoki.find(main, own).map((object) => cryptoki.value(main, object, CKA.ID).toString('hex'))
    },
  } // prettier-ignore
}

function findSlot(cryptoki: Cryptoki, token: TokenOptions['token']): { slot: number; info: TokenInfo } {
  const seen = cryptoki.slots().map((slot) => ({ slot, info: cryptoki.tokenInfo(slot) }))
  const found = seen.filter(({ slot, info }) =>
    Object.entries(token).every(([name, value]) => {
      const says = name === 'slot-id' ? String(slot) : info[name as 'token' | 'manufacturer' | 'model' | 'serial']
      return says === value
    }),
  )
  const [first] = found
  const wanted = Object.entries(token)
    .map(([name, value]) => `${name}=${value}`)
    .join(';')
  if (first === undefined) throw new TokenProblem('away', `there is no token ${wanted}`)
  if (found.length > 1)
    throw new TokenProblem('config', `there are ${found.length} tokens ${wanted}: say which by its serial too`)
  return first
} // prettier-ignore

function logIn(cryptoki: Cryptoki, session: number, { flags }: TokenInfo, pin: string | undefined): void {
  const has = (flag: keyof typeof CKF): boolean => (flags & CKF[flag]) !== 0
  const asks = has('PROTECTED_AUTHENTICATION_PATH')
  if (pin === undefined && !asks) {
    if (!has('LOGIN_REQUIRED')) return
    throw new TokenProblem(
      'config',
      'the token wants a PIN: put it into a file that pin-source names, or into PKCS11_PIN',
    )
  }
  if (has('USER_PIN_LOCKED')) throw new TokenProblem('pin', 'the token has locked its PIN')
  if (has('USER_PIN_FINAL_TRY'))
    throw new TokenProblem(
      'pin',
      'one more wrong PIN would lock the token: log in to it once by its own tools',
    )
  try {
    cryptoki.login(session, pin === undefined ? null : Buffer.from(pin))
  } catch (error) {
    if (!(error instanceof CryptokiError) || error.returned === CKR.USER_ALREADY_LOGGED_IN) throw error
    if (OF_PINS.has(error.returned))
      throw new TokenProblem('pin', `the token refused the PIN (${error.message})`, { cause: error })
    throw error
  }
}
