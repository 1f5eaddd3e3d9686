import { expect, test } from 'vitest'
import { bearer, startApp, startIssuer } from './support.ts'

test('issuers that do not follow RFC 9068 are let in by name, one exception at a time', async () => {
  const issuer = await startIssuer()
  const entra = {
    header: { typ: 'JWT' },
    claims: { client_id: undefined, azp: 'web', jti: undefined, scp: 'a b' },
  }
  const okta = { header: { typ: undefined }, claims: { client_id: undefined, cid: 'web', scp: ['a', 'b'] } }
  const accepts = [
    [entra, ['typ-jwt', 'azp', 'scp', 'no-jti']],
    [okta, ['typ-jwt', 'cid', 'scp', 'scope-array']],
  ] as const
  for (const [token, accept] of accepts) {
    const statusWith = async (...names: (typeof accept)[number][]): Promise<number> => {
      const app = await startApp({ issuer: { issuer: issuer.url, accept: names } }, (app) => {
        app.get('/a', { config: { scope: ['a', 'b'] } }, async ({ token }) => token.clientId)
      })
      return (await app.inject({ url: '/a', headers: bearer(await issuer.token(token)) })).statusCode
    }
    expect(await statusWith(...accept)).toBe(200)
    for (const left of accept) {
      expect([left, await statusWith(...accept.filter((name) => name !== left))]).toEqual([
        left,
        left === 'scp' ? 403 : 401,
      ])
    }
  }
})

test('an ID token does not pass where typ JWT is accepted', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: { issuer: issuer.url, accept: ['typ-jwt', 'azp', 'no-jti'] } })
  for (const claims of [{ nonce: 'n' }, { at_hash: 'h' }, { c_hash: 'h' }]) {
    const token = await issuer.token({ header: { typ: 'JWT' }, claims })
    expect((await app.inject({ url: '/any', headers: bearer(token) })).statusCode).toBe(401)
  }
})
