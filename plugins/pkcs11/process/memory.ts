/** Values as Cryptoki has them in memory (PKCS #11 2.40 §2), on 64-bit systems other than Windows: nothing is packed there. */

/** What a pointer of this memory is. */
export type AddressOf = (memory: Buffer) => bigint

/** An attribute of an object (§4): its type, and its value. */
export type Attribute = readonly [type: number, value: Buffer]

export interface Mechanism {
  readonly mechanism: number
  readonly parameter: Buffer | null
}

/** Bytes of a CK_ULONG, and of a pointer. */
export const WORD = 8
/** CK_UNAVAILABLE_INFORMATION. */
const NONE = 0xffffffffffffffffn

export function ulong(...values: readonly (number | bigint)[]): Buffer {
  const memory = Buffer.alloc(WORD * values.length)
  for (const [at, value] of values.entries()) memory.writeBigUInt64LE(BigInt(value), WORD * at)
  return memory
}

/** The number at a place of an array of CK_ULONG. */
export function ulongAt(memory: Buffer, at: number): number {
  const value = memory.readBigUInt64LE(WORD * at)
  if (value === NONE) throw new Error('the token does not say what it was asked for')
  return Number(value)
}

export function bool(value: boolean): Buffer {
  return Buffer.from([value ? 1 : 0])
}

/** CK_ATTRIBUTE, one after the other; what they point at must be kept. */
export function templateOf(attributes: readonly Attribute[], addressOf: AddressOf): Buffer {
  return ulong(...attributes.flatMap(([type, value]) => [type, addressOf(value), value.length]))
}

/** CK_MECHANISM; what it points at must be kept. */
export function mechanismOf({ mechanism, parameter }: Mechanism, addressOf: AddressOf): Buffer {
  return ulong(mechanism, parameter === null ? 0 : addressOf(parameter), parameter?.length ?? 0)
}

/** Texts are filled up with blanks (§3.1). */
export function textAt(memory: Buffer, from: number, length: number): string {
  return memory
    .subarray(from, from + length)
    .toString('utf8')
    .replace(/[ \0]+$/, '')
}
