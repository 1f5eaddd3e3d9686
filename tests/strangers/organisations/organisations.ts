/**
 * Organisations for Latchkey: which there are, who belongs where, and which one a sign-in is for. An app asks for one by its domain
 * (`organization`), tokens name it by its id, and what belongs to it ends with it.
 */
import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { answer, OAuthError, Type, type Bag, type OAuth, type PluginRecord } from 'latchkey'

declare module 'latchkey' {
  interface EventDetails {
    'organisation.registered': { readonly organisation: string }
    'organisation.changed': { readonly organisation: string }
    'organisation.deleted': { readonly organisation: string }
  }
}

interface Organisation {
  name: string
  domain: string
  /** What its people must have shown to sign in for it. */
  acr?: string
}
/** Kept with the user, under the id of the organisation, which is nobody else's ever after. */
interface Membership {
  role: string
}

const KEPT = 'organization_id'
const Domain = Type.String({ pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)+$', maxLength: 100 })
const Members = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100 }),
  domain: Domain,
  acr: Type.Optional(Type.Enum(['1', '2', 'phr'])),
})

export default async function organisations({ oauth }: FastifyInstance): Promise<void> {
  const known = oauth.records<Organisation>('organisation', { key: ({ domain }) => domain })
  const memberships = oauth.users.records<Membership>('membership', { describe: ({ role }) => ({ role }) })

  const findAsked = async (parameters: Bag): Promise<PluginRecord<Organisation> | null> => {
    const asked = parameters['organization']
    return typeof asked === 'string' ? known.find(asked) : null
  }

  oauth.add('parameter', { name: 'organization', schema: Domain })
  oauth.add('assurance', {
    name: 'organization',
    async require({ request }) {
      const acr = (await findAsked(request.parameters))?.value.acr
      return acr === undefined ? null : { acr: [acr] }
    },
  })
  oauth.add('interactionStep', {
    name: 'organization',
    required: 'interaction_required',
    async run({ request, session }) {
      if (request.parameters['organization'] === undefined || session === null) return 'done'
      const organisation = await findAsked(request.parameters)
      if (organisation === null || (await memberships.get(session.userId, organisation.id)) === null)
        throw new OAuthError('access_denied', 'you do not belong to this organization')
      return { granted: { parameters: { [KEPT]: organisation.id } } }
    },
    submit: async () => ({ note: {} }),
  })

  /** At each token, a refreshed one too: who has left, or whose organisation is gone, gets no more. */
  oauth.add('policy', async ({ subject, parameters }) => {
    const id = parameters?.[KEPT]
    if (typeof id !== 'string' || subject === undefined) return
    const [organisation, membership] = await Promise.all([known.get(id), memberships.get(subject, id)])
    if (organisation === null || membership === null)
      throw new OAuthError('invalid_grant', 'the user does not belong to the organization any more')
  })
  for (const document of ['access_token', 'id_token'] as const)
    oauth.extend(document, [KEPT], async ({ parameters }) => ({ [KEPT]: parameters?.[KEPT] }))
  oauth.extend('userinfo', ['organization'], async ({ parameters }) => {
    const id = parameters?.[KEPT]
    const found = typeof id === 'string' ? await known.get(id) : null
    return {
      organization: found === null ? undefined : { name: found.value.name, domain: found.value.domain },
    }
  })

  /** All of the interface is for who has a token for `manage_organisations`. */
  const ofManagers = { caller: 'bearer', body: 'json', scopes: ['manage_organisations'] } as const

  oauth.registerEndpoint({
    ...ofManagers,
    path: '/organisations',
    parameters: Members,
    async handle(value) {
      const id = randomUUID()
      const event = { type: 'organisation.registered', details: { organisation: id } } as const
      if (!(await known.put(id, value, event))) throw conflict('this domain is taken')
      return answer({ status: 201, body: { id, revision: 0, ...value } })
    },
  })
  oauth.registerEndpoint({
    ...ofManagers,
    path: '/organisations',
    method: 'GET',
    parameters: Type.Object({ after: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })) }),
    async handle({ after }) {
      const page = await known.list({ limit: 2, ...(after === undefined ? {} : { after }) })
      return { organisations: page.map(({ id, revision, value }) => ({ id, revision, ...value })) }
    },
  })
  oauth.registerEndpoint({
    ...ofManagers,
    path: '/organisations/:id',
    method: 'PUT',
    parameters: Type.Object({ ...Members.properties, revision: Type.Integer() }),
    async handle({ revision, ...value }, { path }) {
      const { id } = await get(path['id'])
      const event = { type: 'organisation.changed', details: { organisation: id } } as const
      if (!(await known.replace({ id, revision }, value, event)))
        throw conflict('somebody changed it, or the domain is taken')
      return { id, revision: revision + 1, ...value }
    },
  })
  oauth.registerEndpoint({
    ...ofManagers,
    path: '/organisations/:id',
    method: 'DELETE',
    parameters: Type.Object({}),
    async handle(_none, { path }) {
      const { id } = await get(path['id'])
      await known.delete(id, { type: 'organisation.deleted', details: { organisation: id } })
      return answer({ status: 204 })
    },
  })
  oauth.registerEndpoint({
    ...ofManagers,
    path: '/organisations/:id/members/:username',
    method: 'PUT',
    parameters: Type.Object({ role: Type.Enum(['member', 'owner']) }),
    async handle({ role }, { path }) {
      const { id } = await get(path['id'])
      const user = await getUser(oauth, path['username'])
      if (await memberships.put(user, id, { role })) return answer({ status: 201, body: { role } })
      const had = await memberships.get(user, id)
      if (had === null || !(await memberships.replace(user, had, { role })))
        throw conflict('somebody changed it')
      return { role }
    },
  })
  oauth.registerEndpoint({
    ...ofManagers,
    path: '/organisations/:id/members/:username',
    method: 'DELETE',
    parameters: Type.Object({}),
    async handle(_none, { path }) {
      const { id } = await get(path['id'])
      if (!(await memberships.delete(await getUser(oauth, path['username']), id))) throw notFound()
      return answer({ status: 204 })
    },
  })

  async function get(id = ''): Promise<PluginRecord<Organisation>> {
    const found = await known.get(id)
    if (found === null) throw notFound()
    return found
  }
}

async function getUser({ users }: OAuth, username = ''): Promise<string> {
  const user = await users.find(username)
  if (user === null) throw notFound()
  return user.id
}

function notFound(): OAuthError {
  return new OAuthError('invalid_request', 'there is none', { status: 404 })
}

function conflict(description: string): OAuthError {
  return new OAuthError('invalid_request', description, { status: 409 })
}
