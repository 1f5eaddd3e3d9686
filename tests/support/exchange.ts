/** Apps and services that pass tokens on: who is registered to exchange whose, and the requests. */
import { answer, type Answer } from './device.ts'
import { basic, type Requests } from './requests.ts'
import { SEED, WEB } from './sign-in.ts'

export const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
const TYPE = 'urn:ietf:params:oauth:token-type:'
export const [ACCESS_TOKEN, REFRESH_TOKEN, ID_TOKEN] = ['access_token', 'refresh_token', 'id_token'].map((one) => TYPE + one) as [string, string, string] // prettier-ignore
export const [SHELF, CELLAR] = ['https://shelf.example', 'https://cellar.example']

const service = (client_id: string, scope: string[], token_exchange?: object[]) => ({
  client_id,
  client_secret: `lks_${client_id.padEnd(43, 'x')}`,
  grant_types: [GRANT, 'client_credentials'],
  scope,
  ...(token_exchange === undefined ? {} : { token_exchange }),
})

/** The web app's tokens are exchanged by the desk for the shelf, by the back for the desk's; the cellar is another story. */
export const DESK = service('desk', ['read_shelf', 'read_cellar'], [
  { subject_clients: ['web'], resources: [SHELF], scopes: ['read_shelf'] },
  { subject_clients: ['other'], resources: [CELLAR], scopes: ['read_cellar'], actor_clients: ['robot'] },
]) // prettier-ignore
export const BACK = service('back', ['read_shelf'], [
  { subject_clients: ['desk', 'back', 'mirror'], resources: [SHELF] },
]) // prettier-ignore
export const MIRROR = service('mirror', ['read_shelf'], [
  { subject_clients: ['web', 'mirror', 'desk'], resources: [SHELF], scopes: ['read_shelf'], delegation: false },
]) // prettier-ignore
export const NOBODY = service('nobody', ['read_shelf'])
export const ROBOT = service('robot', ['read_books'])
export const OTHER = { ...WEB, client_id: 'other' }
export const EXCHANGE_SEED = {
  ...SEED,
  clients: [WEB, OTHER, DESK, BACK, MIRROR, NOBODY, ROBOT],
  resources: [
    { resource: SHELF, aliases: ['urn:shelf'], scopes: ['read_shelf'] },
    { resource: CELLAR, scopes: ['read_cellar'] },
  ],
}

export type Registered = { client_id: string; client_secret: string }

export const credentials = ({ client_id, client_secret }: Registered) => basic(client_id, client_secret)

/** What the client is told. */
export async function exchange(
  server: Requests,
  by: Registered,
  subject_token: string,
  more: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  const form = { grant_type: GRANT, subject_token, subject_token_type: ACCESS_TOKEN, ...more }
  return answer(server.post('/token', form, { ...credentials(by), ...headers }))
}

/** What a service gets for itself. */
export async function ownToken(server: Requests, by: Registered): Promise<string> {
  const told = await answer(server.post('/token', { grant_type: 'client_credentials' }, credentials(by)))
  return String(told['access_token'])
}

/** Whether introspection calls it active, for a service that it is for or was given to. */
export async function livesAt(server: Requests, token: unknown): Promise<boolean> {
  for (const by of [BACK, DESK]) {
    const told = await answer(server.post('/introspect', { token: String(token) }, credentials(by)))
    if (told['active'] === true) return true
  }
  return false
}
