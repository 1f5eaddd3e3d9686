/** A grant for tests that grants what the test says: any facts there can be. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { Granted } from '../../src/doors/facts.ts'
import { type TestClient, requestToken } from './clients.ts'
import type { Requests } from './requests.ts'

export const FACTS_GRANT = 'urn:example:facts'

export type Answer = Readonly<Record<string, unknown>> & { status: number }

export interface FactsGrant {
  /** Registers it, with the member `of_grant` of its responses. */
  readonly add: (server: FastifyInstance) => void
  /** What a client is told that is granted this; by default the scope `read` for the user `ada`. */
  get(server: Requests, client: TestClient, facts?: Partial<Granted>): Promise<Answer>
}

export function createFactsGrant(): FactsGrant {
  let granted: Partial<Granted> = {}
  return {
    add({ oauth }) {
      oauth.registerGrant({
        type: FACTS_GRANT,
        parameters: Type.Object({}),
        members: ['of_grant'],
        authorize: async () => ({
          ...(granted.subjectClient === undefined ? { subject: 'ada' } : {}),
          scopes: new Set(['read']),
          resources: [],
          refreshable: true,
          ...granted,
        }),
      })
    },
    async get(server, client, facts = {}) {
      granted = facts
      return answer(requestToken(server, client, { grant_type: FACTS_GRANT }))
    },
  }
}

export async function refreshed(
  server: Requests,
  client: TestClient,
  { refresh_token: token }: Answer,
): Promise<Answer> {
  const form = { grant_type: 'refresh_token', refresh_token: String(token) }
  return answer(requestToken(server, client, form))
}

async function answer(responding: Promise<Response>): Promise<Answer> {
  const response = await responding
  return { ...((await response.json()) as object), status: response.status }
}
