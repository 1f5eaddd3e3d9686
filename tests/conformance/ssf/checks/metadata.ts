/** The transmitter's configuration (SSF 1.0 §7), and the keys that it names. */
import { importJWK, type JWK } from 'jose'
import { expect } from 'vitest'
import { POLL, PUSH } from '../../../support/shared-signals.ts'
import { expectAddresses } from '../../checks/discovery.ts'
import type { SsfChecks } from '../plan.ts'
import { fetchMetadata } from '../suite.ts'

export const metadata = {
  async 'transmitter-metadata'(suite) {
    const answer = await fetchMetadata(suite)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json'])
    const document = (await answer.json()) as Record<string, unknown>
    expect(document['issuer']).toBe(suite.server.url)
    expectAddresses(document, suite.server.url)
    for (const name of ['configuration', 'status', 'verification', 'add_subject', 'remove_subject'])
      expect(document).toHaveProperty(`${name}_endpoint`)
    expect(document).toMatchObject({
      spec_version: '1_0',
      default_subjects: expect.stringMatching(/^(?:ALL|NONE)$/),
      delivery_methods_supported: [PUSH, POLL],
      authorization_schemes: expect.arrayContaining([{ spec_urn: 'urn:ietf:rfc:6749' }]),
    })
    for (const { spec_urn } of document['authorization_schemes'] as { spec_urn: string }[])
      expect(spec_urn).toMatch(/^urn:/)
    expect(Object.values(document)).not.toContainEqual([])

    const { keys } = (await (await fetch(suite.metadata.jwks_uri)).json()) as { keys: JWK[] }
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(keys.length)
    for (const jwk of keys) {
      for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) expect(jwk).not.toHaveProperty(secret)
      await importJWK(jwk, jwk.alg)
    }
    for (const { n } of keys.filter(({ kty }) => kty === 'RSA'))
      expect(Buffer.from(n!, 'base64url').length * 8).toBeGreaterThanOrEqual(2048)
  },
} satisfies SsfChecks
