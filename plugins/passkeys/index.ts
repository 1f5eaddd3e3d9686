/**
 * Passkeys (Web Authentication Level 3): signing in with them, and keeping them on the account and in the administration. At an issuer for
 * which browsers make none, there is nothing of all this.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { relyingPartyOf } from '../../src/protocol/relying-party.ts'
import { addAdministration } from './administration.ts'
import { createAssertions } from './assertions.ts'
import { createChallenges } from './challenges.ts'
import { addOffer } from './offer.ts'
import { addOperations } from './operations.ts'
import { createPasskeys, type Passkeys, USER_HANDLES } from './passkeys.ts'
import { addSecurity } from './security.ts'
import { addSignIn } from './sign-in.ts'
import { addStepUp } from './step-up.ts'
import { addWellKnown } from './well-known.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Not there where the plugin `latchkey-passkeys` is left out, or the issuer is one for which browsers make none. */
    passkeys: Passkeys
  }
}

async function passkeys(fastify: FastifyInstance): Promise<void> {
  const { oauth, log } = fastify
  const party = relyingPartyOf(oauth.issuer, oauth.config.BRAND_NAME)
  if (party === null) {
    const why = 'no passkeys here: the issuer is an IP address, or plain http elsewhere than at localhost'
    // Of a start alone: a command says what it was asked for.
    fastify.addHook('onListen', async () => log.info(why))
    return
  }
  const own = createPasskeys(oauth)
  // Where no SECRET_KEY fits it, a start says so, and not a page of people.
  fastify.addHook('onReady', async () => void (await oauth.secret(USER_HANDLES)))
  const challenges = createChallenges(kernelOf(fastify))
  fastify.decorate('passkeys', { list: own.list, rename: own.rename, remove: own.remove })
  const assertions = createAssertions(fastify, party, own, challenges)
  await addSignIn(fastify, own, assertions)
  await addStepUp(fastify, own, assertions)
  if (fastify.hasPlugin('latchkey-admin')) await addAdministration(fastify, own)
  if (fastify.hasDecorator('adminApi')) addOperations(fastify.adminApi, own)
  if (!fastify.hasPlugin('latchkey-account')) return
  await addSecurity(fastify, party, own, challenges)
  await addOffer(fastify, party, own)
  await addWellKnown(fastify)
}

export default fp(passkeys, {
  name: 'latchkey-passkeys',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-pages'],
})
