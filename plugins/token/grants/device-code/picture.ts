/**
 * `verification_uri_complete` as a picture (RFC 8628 §3.3.1), for devices that show pages and draw none themselves. It is made of what
 * the address says: no request is looked up, so that nobody learns from it which codes there are.
 */
import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { pictureOf } from '../../../pages/qr.ts'
import { displayUserCode, normalizeUserCode } from './user-code.ts'

const HEADERS = {
  'content-type': 'image/svg+xml',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  // The page of a device is elsewhere.
  'cross-origin-resource-policy': 'cross-origin',
}

export function addPicture({ oauth, pages }: FastifyInstance): void {
  pages.serve({
    path: '/device/qr.svg',
    query: Type.Object({ user_code: Type.Optional(Type.String()) }),
    async show({ user_code: given = '' }, { reply }) {
      const userCode = normalizeUserCode(given)
      if (userCode === null)
        throw new OAuthError('invalid_request', 'user_code must be a code that a device was given')
      const address = `${oauth.issuer}/device?user_code=${displayUserCode(userCode)}`
      const { size, path } = await pictureOf(address)
      return reply
        .headers(HEADERS)
        .send(
          `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path d="${path}"/></svg>`,
        )
    },
  })
}
