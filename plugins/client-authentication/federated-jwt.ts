/**
 * Workloads that prove who they are by the token that their platform gives them: a service account of Kubernetes, a job of GitHub Actions, a
 * JWT-SVID of SPIFFE. On the wire it is as private_key_jwt (RFC 7521 §4.2), by an issuer that is registered here as trusted; which of its
 * workloads the client is says its `federated_identity`. Nobody keeps a secret.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { metadataError } from '../../src/protocol/errors.ts'
import { reason } from '../../src/protocol/message.ts'
import { isObject } from '../../src/protocol/json.ts'
import { SIGNATURE_ALGORITHMS } from '../../src/protocol/jwk-set.ts'
import { Type } from '../../src/protocol/schema.ts'
import { JwtError } from '../../src/protocol/signed-jwt.ts'
import { obeys, readClaimRules } from '../../src/protocol/claim-rules.ts'
import { PLAIN_TYPES } from '../../src/services/trusted-issuers/assertions.ts'

const METHOD = 'federated_jwt'
const MEMBER = 'federated_identity'
/** RFC 7523 §2.2, and draft-ietf-oauth-spiffe-client-auth. */
const TYPES: ReadonlySet<unknown> = new Set([
  'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe',
])
const REFUSED = 'refused: the token of a workload is not good'

/** Which of the issuer's workloads a client is. */
const FederatedIdentity = Type.Object(
  {
    issuer: Type.String({ minLength: 1, maxLength: 2048 }),
    /** The `sub`, letter by letter. */
    subject: Type.Optional(Type.String({ minLength: 1, maxLength: 2048 })),
    /** What claims must say. */
    claims: Type.Optional(Type.Object({})),
  },
  { additionalProperties: false },
)

async function federatedJwt(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { assertions, once } = kernelOf(fastify)
  oauth.extendClientMetadata(
    Type.Object({ [MEMBER]: FederatedIdentity }),
    ({ token_endpoint_auth_method: method, [MEMBER]: identity }) => {
      if (identity !== undefined) assertNarrow(identity)
      else if (method === METHOD)
        throw metadataError(
          'token_endpoint_auth_method',
          reason('{method} needs {member}', { method: METHOD, member: MEMBER }),
        )
    },
  )

  oauth.register('clientAuthentication', METHOD, {
    credentials: ['client_assertion', 'client_assertion_type'],
    algorithms: SIGNATURE_ALGORITHMS,
    recognizes(_request, wire) {
      const { client_assertion: jwt, client_id: clientId } = wire
      if (typeof jwt !== 'string' || !TYPES.has(wire['client_assertion_type'])) return null
      try {
        if (assertions.issuerNamedIn(jwt) === null) return null
      } catch (error) {
        if (!(error instanceof JwtError)) throw error
        return null
      }
      return typeof clientId === 'string' ? [clientId] : []
    },
    async authenticate(request, wire, client) {
      try {
        const assertion = await assertions.read(String(wire['client_assertion']), { types: PLAIN_TYPES })
        const { from, claims, spend } = assertion
        if (client === null || !isIts(client.metadata[MEMBER], from.issuer, claims))
          throw new JwtError('it is of another workload')
        // Nobody is asked for a proof of it here (RFC 7800 §3).
        if (claims['cnf'] !== undefined) throw new JwtError('it is bound to a key')
        if (spend === undefined || (await once(spend.kind, spend.handle, spend.until))) return true
        throw new JwtError('it was used before')
      } catch (error) {
        if (!(error instanceof JwtError)) throw error
        request.log.warn({ client: client?.clientId, method: METHOD, reason: error.message }, REFUSED)
        return false
      }
    },
  })
  // Whose names are known tells which method is meant.
  fastify.addHook('onReady', async () => {
    await kernelOf(fastify).trustedIssuers.trusted()
  })
}

/** Else each workload of the issuer would be the client. */
function assertNarrow(identity: unknown): void {
  const { subject, claims } = identity as { subject?: string; claims?: object }
  const rules = claims === undefined ? {} : readClaimRules(MEMBER, claims)
  if (subject === undefined && Object.keys(rules).length === 0)
    throw metadataError(MEMBER, reason('needs a subject, or claims: which workload of the issuer it is'))
}

function isIts(identity: unknown, issuer: string, claims: Bag): boolean {
  if (!isObject(identity) || identity['issuer'] !== issuer) return false
  const { subject, claims: rules = {} } = identity
  return (
    (subject === undefined || claims['sub'] === subject) &&
    obeys(claims, rules as Readonly<Record<string, string | readonly string[]>>)
  )
}

export default fp(federatedJwt, { name: 'latchkey-federated-jwt', dependencies: ['latchkey-oauth'] })
