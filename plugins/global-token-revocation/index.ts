/**
 * Global Token Revocation (draft-parecki-oauth-global-token-revocation-05): at `/global-token-revocation` a program, or the provider by which somebody
 * signs in, has all of their sessions and tokens end, as Okta does by Universal Logout. With `GLOBAL_TOKEN_REVOCATION=off` nothing of it is here.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { answer } from '../../src/doors/answer.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import { createProgramAccess } from '../programs/access.ts'
import { notFound } from '../programs/refusals.ts'
import { createCallers } from './callers.ts'
import { createSubjects, readSubject, type SubjectIdentifier } from './subjects.ts'

const PATH = '/global-token-revocation'
/** §Security Considerations: a scope that is for this alone. */
const SCOPE = 'latchkey:global-token-revocation'
/** As people who allow an app to have it read it: in English, which catalogues have as it is. */
const DESCRIPTION = message('Sign anybody out everywhere, and end all access of their apps')

async function globalTokenRevocation(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config, seeder } = kernelOf(fastify)
  if (config.GLOBAL_TOKEN_REVOCATION === 'off') return
  const resource = `${oauth.issuer}${PATH}`
  // What is changed or removed of it here stays so.
  seeder.bring('GLOBAL_TOKEN_REVOCATION', {
    resources: [{ resource, name: 'The end of sessions and tokens, for programs' }],
    scopes: [{ name: SCOPE, description: DESCRIPTION.text, resource }],
  })
  const access = await createProgramAccess(fastify, { path: PATH, implies: {} })
  const callers = createCallers(fastify, { access, resource })
  const subjects = createSubjects(fastify)

  oauth.registerEndpoint({
    path: PATH,
    metadata: 'global_token_revocation_endpoint',
    caller: 'bearer',
    body: 'json',
    scopes: [SCOPE],
    requireScope: callers.requireScope,
    parameters: Type.Object({}),
    async handle(_parameters, { token, request, body }) {
      const voucher = callers.voucherOf(request)
      if (voucher === null) access.nameActor({ token, request })
      else request.actor = { kind: 'issuer', id: voucher.issuer }
      const subject = subjectOf(body)
      try {
        const id = await subjects.find(subject, voucher)
        // With the end of everything itself: neither is there without the other.
        const also = async (query: Parameters<typeof callers.spend>[1]) => callers.spend(request, query)
        if (id !== null && (await oauth.users.revokeTokens({ id }, { also }))) return answer({ status: 204 })
      } catch (error) {
        if (error instanceof OAuthError && error.status === 403) await callers.spend(request)
        throw error
      }
      // Nor may it be shown again to find out who is here.
      await callers.spend(request)
      throw notFound('user')
    },
  })
  // A command provisions by itself.
  fastify.addHook('onListen', async () => {
    fastify.log.info(
      { resource },
      'programs and upstreams may end sessions and tokens (Global Token Revocation)',
    )
  })
}

/** Drafts before the third, and Okta while it kept to them, call it `subject`. */
function subjectOf({ sub_id: now, subject: before }: Readonly<Record<string, unknown>>): SubjectIdentifier {
  if (now !== undefined && before !== undefined)
    throw new OAuthError('invalid_request', 'the body has both sub_id and subject: leave subject out')
  return now === undefined && before !== undefined
    ? readSubject('subject', before)
    : readSubject('sub_id', now)
}

export default fp(globalTokenRevocation, {
  name: 'latchkey-global-token-revocation',
  dependencies: ['latchkey-oauth'],
})
