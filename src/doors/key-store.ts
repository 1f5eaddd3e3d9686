/**
 * Where signing keys are kept, other than in the database: in hardware, or at a service that signs for us. A private key never
 * leaves its store; when each signs, until when, and who believes it stays with the server.
 */
import type { JWK } from 'jose'

/** Its key is the scheme of an entry of `KEYS`, as `pkcs11` of `pkcs11:token=example`. */
export interface KeyStore {
  /**
   * Opens what an entry of `KEYS` names; it need not be reached yet. What stands before a `?` in it says which store it is, and is
   * stored with each key; what follows is how it is reached. Throws `ConfigError` for what cannot be meant, which ends the start.
   */
  open(uri: string, options: KeyStoreOptions): Promise<OpenKeyStore>
}

export interface KeyStoreOptions {
  /** The issuer, for whom keys are named in the store. */
  readonly issuer: string
  /** How many calls of `sign` come at once at most. */
  readonly atOnce: number
}

/**
 * Every method gives up when its signal does, and throws for what may be over soon. A `ConfigError` is for what an operator has to
 * mend, such as a wrong PIN: at a start it ends the start, later it counts as any other failure.
 */
export interface OpenKeyStore {
  /** The JWS algorithms (RFC 7518 §3.1, RFC 8037 §3.1) that it makes keys for. */
  algorithms(signal: AbortSignal): Promise<readonly string[]>
  /** A new key: what it is found by, 1,024 characters at most and no secret, and its public part. */
  generate(algorithm: string, signal: AbortSignal): Promise<GeneratedKey>
  /** The signature over `input` in the form of JWS: for ECDSA, `r` and `s` in equal halves (RFC 7518 §3.4). */
  sign(reference: string, algorithm: string, input: Uint8Array, signal: AbortSignal): Promise<Uint8Array>
  /** Ends a key for ever. One that is not there is no error: two processes may ask for the same. */
  withdraw(reference: string, signal: AbortSignal): Promise<void>
  /** The references of all keys that it made for this issuer and has. */
  list(signal: AbortSignal): Promise<readonly string[]>
  close(): Promise<void>
}

export interface GeneratedKey {
  readonly reference: string
  /** `kty` and the public members that it has (RFC 7518 §6, RFC 8037 §2). */
  readonly publicJwk: JWK
}
