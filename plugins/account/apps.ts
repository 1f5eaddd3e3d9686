/** `/account/apps`: which apps have access to an account, to what, and taking it back. */
import type { FastifyReply } from 'fastify'
import type { Client } from '../../src/doors/client.ts'
import type { Session } from '../../src/doors/interaction.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { ConnectedClient } from '../../src/services/users/connected-client.ts'
import { clientView, entranceOf, faceOf } from '../pages/client-view.ts'
import type { PageCall } from '../pages/index.ts'
import type { ClientView } from '../pages/models.ts'
import { describeScopes } from '../pages/scope-words.ts'
import { standardScopes } from '../pages/words.ts'
import type { OwnArea } from './area.ts'

const PATH = '/apps'
const REVOKE = '/apps/revoke'
const REVOKE_ALL = '/apps/revoke-all'
/** Apps on a page. */
const PAGE = 50
const Text = () => Type.Optional(Type.String())
/** Of what stands in the query: nobody can put another name there, nor one of another session. */
const takenBackIn = ({ sid }: Session): string => `app whose access was taken back in ${sid}`
const ALL: Words = message('No app has access to your account any more.')

export function addApps(area: OwnArea): void {
  const { oauth, serve, uri, sessionOf } = area
  const { box, config, consents } = area.kernel

  async function toView(call: PageCall, { clientId, scopes, lines, since, usedAt }: ConnectedClient) {
    const client = await oauth.findClient(clientId)
    return {
      clientId,
      ...(client === null
        ? { name: clientId, host: null, claim: null, entrance: null }
        : viewOf(client, oauth.issuer)),
      byItself: client?.registrar !== undefined,
      isRegistered: client?.unregistered === undefined,
      scopes: await describeScopes(oauth, personFirst(scopes)),
      lines: lines.map(({ words }) => words),
      since: new Date(since),
      lastUsed: new Date(usedAt),
      offline: scopes.includes('offline_access'),
      revoke: area.target(call, REVOKE, clientId),
    }
  }

  /** The longest that one of these resources takes a token of ours without asking us, in minutes. */
  async function lifetimeOf(apps: readonly ConnectedClient[]): Promise<number> {
    const lifetimes = [config.OIDC_TOKEN_EXPIRE]
    for (const resource of new Set(apps.flatMap(({ resources }) => resources)))
      lifetimes.push((await oauth.findResource(resource))?.accessTokenLifetime ?? 0)
    return Math.ceil(Math.max(...lifetimes) / 60)
  }

  const toList = ({ reply }: PageCall, named: Readonly<Record<string, string>> = {}): FastifyReply =>
    reply.redirect(uri(PATH, { done: 'one', ...named }), 303)

  serve({
    path: `/account${PATH}`,
    query: Type.Object({ after: Text(), done: Text(), app: Text() }),
    async show({ after = '', done = '', app = '' }, call) {
      const session = sessionOf(call.request)
      const found = await consents.list(session.userId, { after, limit: PAGE + 1 })
      const shown = found.slice(0, PAGE)
      const apps = []
      for (const one of shown) apps.push(await toView(call, one))
      return call.reply.page('account-apps', {
        apps,
        revokeAll: apps.length > 1 ? area.target(call, REVOKE_ALL) : null,
        lifetime: await lifetimeOf(shown),
        done:
          done === 'one' ? wordsOfOne(box.tryOpen(app, takenBackIn(session))) : done === 'all' ? ALL : null,
        nextUri: found.length > PAGE ? uri(PATH, { after: shown.at(-1)!.clientId }) : null,
        firstUri: after === '' ? null : uri(PATH),
      })
    },
  })
  serve({
    path: `/account${REVOKE}`,
    query: Type.Object({}),
    form: Type.Object({ client_id: Text() }),
    show: async (_query, { reply }) => reply.redirect(uri(PATH), 303),
    async submit({ client_id: clientId = '' }, call) {
      const session = area.assertGenuine(call, REVOKE, clientId)
      // A second time, nothing is named: it may be anything.
      if (!(await consents.withdraw(session.userId, clientId))) return toList(call)
      // What it is called is not needed for that, wherever it has to be read.
      const client = await oauth.findClient(clientId).catch(() => null)
      const name = client === null ? clientId : faceOf(client).name
      return toList(call, { app: box.seal(name, takenBackIn(session)) })
    },
  })
  serve({
    path: `/account${REVOKE_ALL}`,
    query: Type.Object({}),
    form: Type.Object({}),
    show: async (_query, { reply }) => reply.redirect(uri(PATH), 303),
    async submit(_form, call) {
      const { userId } = area.assertGenuine(call, REVOKE_ALL)
      for (let after = '', more = true; more;) {
        const apps = await consents.list(userId, { after, limit: PAGE })
        for (const { clientId } of apps) await consents.withdraw(userId, clientId)
        more = apps.length === PAGE
        after = apps.at(-1)?.clientId ?? ''
      }
      return call.reply.redirect(uri(PATH, { done: 'all' }), 303)
    },
  })
}

/** Null for a name that we did not seal. */
function wordsOfOne(app: string | null): Words {
  return app === null
    ? message('The app no longer has access to your account.')
    : message('{app} no longer has access to your account.', { app })
}

/** With its home page's host, or that of the address where it takes people who signed in; one that registered itself is named by all of them. */
function viewOf(
  client: Client,
  issuer: string,
): Pick<ClientView, 'name' | 'host' | 'claim'> & { entrance: string | null } {
  const [registered] = (client.metadata['redirect_uris'] ?? []) as readonly string[]
  const hasHost = client.registrar !== undefined || client.metadata['client_uri'] !== undefined
  const redirectUri = hasHost ? undefined : registered
  const request = {
    client,
    scopes: new Set<string>(),
    resources: [],
    parameters: {},
    ...(redirectUri === undefined ? {} : { redirectUri }),
  }
  return { ...clientView(request), entrance: entranceOf(request, issuer) }
}

/** As people were asked for them: what was allowed in several steps is stored in no such order. */
function personFirst(scopes: readonly string[]): string[] {
  const standard = [...standardScopes.keys()]
  const placeOf = (scope: string): number => standard.indexOf(scope) + 1 || standard.length + 1
  return scopes.toSorted((one, other) => placeOf(one) - placeOf(other))
}
