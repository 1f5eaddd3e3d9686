/** Directories that provision the users of a server by SCIM. */
import { program, ROOT, tokenOf, type ApiAnswer } from './admin-api.ts'
import { bearer, type Requests } from './requests.ts'
import { startServer, type TestServer, type TestServerOptions } from './server.ts'
import type { Settings } from './settings.ts'
import { SEED } from './sign-in.ts'

export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group'
export const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
export const PATCH_OP = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
export const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'
export const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error'
export const DIRECTORIES = [
  program('directory', 'scim:write'),
  program('other', 'scim:write'),
  program('viewer', 'scim:read'),
]

export type CallScim = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<ApiAnswer>

/** Calls SCIM with this token. */
export function scimWith(server: Requests, token?: string): CallScim {
  return async (method, path, body, more = {}) => {
    const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    const headers = {
      ...(token === undefined ? {} : bearer(token)),
      ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }),
      ...more,
    }
    const answer = await server.request(`/scim/v2${path}`, { method, headers, ...sent })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
  }
}

export async function scimAs(server: Requests, client: string): Promise<CallScim> {
  return scimWith(server, await tokenOf(server, client))
}

/** A server with SCIM, directories and an administrator. */
export async function startScim(
  settings: Settings = {},
  options: TestServerOptions = {},
): Promise<TestServer> {
  const seed = { ...SEED, users: [...SEED.users, ROOT], clients: [...SEED.clients, ...DIRECTORIES] }
  return startServer({ SCIM: 'on', ...settings }, { seed, ...options })
}

/** The body of a PATCH. */
export function patchOf(...Operations: readonly object[]): object {
  return { schemas: [PATCH_OP], Operations }
}
