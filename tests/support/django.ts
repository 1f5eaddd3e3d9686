/** What Django writes: hashes as its hashers make them, and records as `dumpdata` prints them (5.2, tried). */
import { pbkdf2Sync, randomBytes } from 'node:crypto'

/** Fewer iterations than Django's 1,000,000: the form is what counts. */
export function djangoHash(password: string): string {
  const salt = randomBytes(11).toString('hex')
  const digest = pbkdf2Sync(password, salt, 1000, 32, 'sha256').toString('base64')
  return `pbkdf2_sha256$1000$${salt}$${digest}`
}

export interface DjangoRecord {
  model: string
  pk?: number
  fields: Record<string, unknown>
}

/** As `createsuperuser` and the admin leave a user; `fields` win. */
export function djangoUser(username: string, fields: Record<string, unknown> = {}): DjangoRecord {
  const others = {
    password: '!CQF1MnR8vhF1aDDiCA5jgPUUkYPTbacOUgPvq9gl',
    last_login: null,
    is_superuser: false,
    username,
    first_name: '',
    last_name: '',
    email: '',
    is_staff: false,
    is_active: true,
    date_joined: '2021-11-21T18:10:19.119Z',
    groups: [],
    user_permissions: [],
  }
  return { model: 'auth.user', pk: 1, fields: { ...others, ...fields } }
}

/** The six that django-oidc-provider's migration makes. */
export const RESPONSE_TYPES: DjangoRecord[] = [
  'code', 'id_token', 'id_token token', 'code token', 'code id_token', 'code id_token token',
].map((value, at) => ({
  model: 'oidc_provider.responsetype', pk: at + 1, fields: { value, description: `${value} (some flow)` },
})) // prettier-ignore

/** A client of django-oidc-provider 0.9 with the code flow; `fields` win. */
export function djangoClient(clientId: string, fields: Record<string, unknown> = {}): DjangoRecord {
  const others = {
    name: '',
    owner: null,
    client_type: 'confidential',
    client_id: clientId,
    client_secret: '',
    jwt_alg: 'RS256',
    date_created: '2021-11-21',
    website_url: '',
    terms_url: '',
    contact_email: '',
    logo: '',
    reuse_consent: true,
    require_consent: true,
    _redirect_uris: '',
    _post_logout_redirect_uris: '',
    _scope: '',
    response_types: [1],
  }
  return { model: 'oidc_provider.client', pk: 1, fields: { ...others, ...fields } }
}
