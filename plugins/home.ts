/** The home page: never a bare 404 at the issuer's own address. What is there depends on who is signed in. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { message } from '../src/protocol/message.ts'
import { ADMIN } from '../src/services/users/user.ts'
import { refuseOtherMethods } from '../src/http/methods.ts'
import { sendErrorPage } from './pages/error-page.ts'

async function home(fastify: FastifyInstance): Promise<void> {
  const { oauth, browser } = fastify
  const { basePath, production } = oauth.config

  const account = {
    title: message('Your account'),
    href: `${basePath}/account`,
    text: message('Your profile and password, where you are signed in, and the apps with access.'),
  }
  const administration = {
    title: message('Administration'),
    href: `${basePath}/admin`,
    text: message('Apps, people, keys and the audit log.'),
  }

  fastify.setErrorHandler(sendErrorPage)
  // Below a base path, Fastify serves it without the slash at the end, too.
  fastify.get('/', async (request, reply) => {
    const session = await browser.session(request)
    const user = session === null ? null : await oauth.findUser(session.userId)
    return reply.page('home', {
      issuer: oauth.issuer,
      discoveryUri: `${oauth.issuer}/.well-known/openid-configuration`,
      user: user && { username: user.username, name: (user.claims['name'] as string | undefined) ?? null },
      development: !production,
      links: [
        ...(user !== null && fastify.hasPlugin('latchkey-account') ? [account] : []),
        ...(user?.roles.includes(ADMIN) && fastify.hasPlugin('latchkey-admin') ? [administration] : []),
      ],
    })
  })
  refuseOtherMethods(fastify, '/', ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], 'GET, HEAD')
}

export default fp(home, {
  name: 'latchkey-home',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-pages'],
  encapsulate: true,
})
