// The verifier of a foreign app: JWT access tokens by RFC 9068, signed by one of a fixed set of issuers.
// It proceeds from what costs nothing to what costs most, and touches the network only for an issuer that is trusted.
import { compactVerify } from 'jose'
import type { AccessToken, Verifier } from './access-token.ts'
import { BearerError, VerificationUnavailable } from './bearer-error.ts'
import { mismatch } from './mismatch.ts'
import { assertType, latestIssueInstant, readAccessToken } from './claims.ts'
import { decodeToken } from './jwt.ts'
import type { UnverifiedToken } from './jwt.ts'
import type { TrustedIssuer } from './trusted-issuer.ts'
import type { VerificationKey } from './verification-keys.ts'
import { VerifiedTokens } from './verified-tokens.ts'

export class IssuerVerifier implements Verifier {
  readonly #issuers: ReadonlyMap<string, TrustedIssuer>
  readonly #now: () => number
  readonly #verified = new VerifiedTokens()

  constructor(issuers: readonly TrustedIssuer[], now: () => number) {
    this.#issuers = new Map(issuers.map((trusted) => [trusted.issuer, trusted]))
    this.#now = now
  }

  async verify(token: string): Promise<AccessToken> {
    const fingerprint = VerifiedTokens.fingerprint(token)
    const known = this.#verified.find(fingerprint)
    const decoded = known?.token ?? decodeToken(token)
    const trusted = this.#trusted(decoded)
    const key = await currentKey(trusted, decoded)
    if (known?.key !== key) {
      this.#verified.delete(fingerprint)
      await assertSignature(token, decoded, key)
      this.#verified.add(fingerprint, { token: decoded, key })
    }
    return readAccessToken(decoded.claims, trusted.accept, this.#now())
  }

  #trusted({ algorithm, type, claims }: UnverifiedToken): TrustedIssuer {
    const trusted = typeof claims['iss'] === 'string' ? this.#issuers.get(claims['iss']) : undefined
    if (trusted === undefined)
      throw refused(
        'The token is from another issuer',
        mismatch('iss', claims['iss'], [...this.#issuers.keys()]),
      )
    if (!trusted.algorithms.has(algorithm))
      throw refused('The token is signed by an algorithm that is not accepted')
    assertType(type, claims, trusted.accept)
    return trusted
  }
}

function currentKey(
  trusted: TrustedIssuer,
  { kid, algorithm, claims }: UnverifiedToken,
): Promise<VerificationKey> {
  return trusted.keys.get(kid, algorithm, latestIssueInstant(claims))
}

async function assertSignature(
  token: string,
  { algorithm }: UnverifiedToken,
  key: VerificationKey,
): Promise<void> {
  const imported = await key.import(algorithm).catch((cause: unknown) => {
    throw new VerificationUnavailable({ cause })
  })
  try {
    await compactVerify(token, imported, { algorithms: [algorithm] })
  } catch (cause) {
    throw refused('The signature of the token is not good', cause)
  }
}

function refused(description: string, cause?: unknown): BearerError {
  return new BearerError('invalid_token', description, { cause })
}
