/** Requests whose JWT is not as CIBA §7.1.1 and FAPI-CIBA §5.2.2 ask for. */
import { randomUUID } from 'node:crypto'
import { PATH } from '../../../support/ciba.ts'
import { inSeconds } from '../../../support/client-assertions.ts'
import { PERSON } from '../../suite.ts'
import { expectError } from '../../fapi/back-channel.ts'
import { ask, request, send, usualOf, type How } from '../back-channel.ts'
import type { CibaCheck, CibaChecks } from '../plan.ts'
import type { CibaSuite } from '../suite.ts'
import { signedRequest } from '../../../support/ciba.ts'

const MINUTE = 60

/** That it is refused for this alone: the same without it is taken. */
const refused = (claims: object | ((suite: CibaSuite) => object), how: How = {}): CibaCheck => {
  return async (suite) => {
    await ask(suite)
    const over = typeof claims === 'function' ? claims(suite) : claims
    await expectError(await request(suite, over, how), 400, 'invalid_request')
  }
}

const signedBy = (choose: (suite: CibaSuite) => How): CibaCheck => {
  return async (suite) => expectError(await request(suite, {}, choose(suite)), 400, 'invalid_request')
}

export const requestObjects = {
  '-ensure-request-object-missing-aud-fails': refused({ aud: undefined }),
  '-ensure-request-object-bad-aud-fails': refused({ aud: 'https://other.example/' }),
  '-ensure-request-object-missing-iss-fails': refused({ iss: undefined }),
  '-ensure-request-object-bad-iss-fails': refused(({ second }) => ({ iss: second.client_id })),
  '-ensure-request-object-missing-exp-fails': refused({ exp: undefined }),
  '-ensure-request-object-expired-exp-fails': refused(() => ({
    nbf: inSeconds(-10 * MINUTE),
    exp: inSeconds(-5 * MINUTE),
  })),
  '-ensure-request-object-exp-is-70-minutes-in-future-fails': refused(() => ({
    exp: inSeconds(70 * MINUTE),
  })),
  '-ensure-request-object-missing-iat-fails': refused({ iat: undefined }),
  '-ensure-request-object-missing-nbf-fails': refused({ nbf: undefined }),
  '-ensure-request-object-nbf-is-10-minutes-in-future-fails': refused(() => ({
    nbf: inSeconds(10 * MINUTE),
    exp: inSeconds(15 * MINUTE),
  })),
  '-ensure-request-object-nbf-is-70-minutes-in-past-fails': refused(() => ({ nbf: inSeconds(-70 * MINUTE) })),
  '-ensure-request-object-missing-jti-fails': refused({ jti: undefined }),
  async '-ensure-request-object-signature-algorithm-is-none-fails'(suite) {
    const { client_id } = suite.first
    const times = { iat: inSeconds(0), nbf: inSeconds(0), exp: inSeconds(300) }
    const claims = {
      iss: client_id,
      aud: suite.server.url,
      jti: randomUUID(),
      ...times,
      ...usualOf(suite),
    }
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const unsigned = `${part({ alg: 'none' })}.${part(claims)}.`
    await expectError(await send(suite, PATH, { request: unsigned }), 400, 'invalid_request')
  },
  async '-ensure-request-object-signature-algorithm-is-bad-fails'(suite) {
    const { first, server } = suite
    const signed = await signedRequest(first.key, first.client_id, server.url, usualOf(suite))
    const [header, claims, signature] = signed.split('.')
    const other = Buffer.from(signature!, 'base64url')
    other[7]! ^= 0x5a
    const spoilt = [header, claims, other.toString('base64url')].join('.')
    await expectError(await send(suite, PATH, { request: spoilt }), 400, 'invalid_request')
  },
  '-ensure-request-object-signature-algorithm-is-RS256-fails': signedBy(({ first }) => ({
    signer: first.weak,
  })),
  '-ensure-request-object-signed-by-other-client-fails': signedBy(({ second }) => ({ signer: second.key })),
  async '-ensure-unsigned-backchannel-authorization-request-fails'(suite) {
    await expectError(await send(suite, PATH, usualOf(suite)), 400, 'invalid_request')
  },
  '-ensure-authorization-request-with-multiple-hints-fails': refused({
    login_hint: PERSON.username,
    id_token_hint: 'a hint',
  }),
} satisfies CibaChecks
