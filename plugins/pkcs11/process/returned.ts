/** Return values of Cryptoki (PKCS #11 2.40 §5.1): those that we tell apart, and those that operators meet. */

export const CKR = {
  SLOT_ID_INVALID: 0x3,
  GENERAL_ERROR: 0x5,
  FUNCTION_FAILED: 0x6,
  ATTRIBUTE_VALUE_INVALID: 0x13,
  DEVICE_ERROR: 0x30,
  DEVICE_MEMORY: 0x31,
  DEVICE_REMOVED: 0x32,
  KEY_HANDLE_INVALID: 0x60,
  MECHANISM_INVALID: 0x70,
  MECHANISM_PARAM_INVALID: 0x71,
  OBJECT_HANDLE_INVALID: 0x82,
  PIN_INCORRECT: 0xa0,
  PIN_INVALID: 0xa1,
  PIN_LEN_RANGE: 0xa2,
  PIN_EXPIRED: 0xa3,
  PIN_LOCKED: 0xa4,
  SESSION_CLOSED: 0xb0,
  SESSION_COUNT: 0xb1,
  SESSION_HANDLE_INVALID: 0xb3,
  TEMPLATE_INCONSISTENT: 0xd1,
  TOKEN_NOT_PRESENT: 0xe0,
  TOKEN_NOT_RECOGNIZED: 0xe1,
  TOKEN_WRITE_PROTECTED: 0xe2,
  USER_ALREADY_LOGGED_IN: 0x100,
  USER_NOT_LOGGED_IN: 0x101,
  USER_PIN_NOT_INITIALIZED: 0x102,
  DOMAIN_PARAMS_INVALID: 0x130,
  CURVE_NOT_SUPPORTED: 0x140,
  CRYPTOKI_NOT_INITIALIZED: 0x190,
} as const
const NAMES = new Map<number, string>(Object.entries(CKR).map(([name, value]) => [value, `CKR_${name}`]))

/** The PIN is wrong, or the token takes none any more: another try can only make it worse. */
export const OF_PINS: ReadonlySet<number> = new Set([
  CKR.PIN_INCORRECT,
  CKR.PIN_INVALID,
  CKR.PIN_LEN_RANGE,
  CKR.PIN_EXPIRED,
  CKR.PIN_LOCKED,
  CKR.USER_PIN_NOT_INITIALIZED,
])

/** A function returned something else than CKR_OK. */
export class CryptokiError extends Error {
  readonly returned: number

  constructor(called: string, returned: number) {
    super(`${called} returned ${NAMES.get(returned) ?? `0x${returned.toString(16)}`}`)
    this.returned = returned
  }
}
