/** `/admin/unregistered`: apps that are known by a document at their address. What is blocked, and a form for more; one of them with what it has. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Client } from '../../src/doors/client.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { Paged } from '../admin/models.ts'
import { faceOf } from '../pages/client-view.ts'
import { LOOK_AGAIN } from '../pages/expired-form.ts'
import type { PageCall } from '../pages/index.ts'
import type { FormTarget, Notice } from '../pages/models.ts'
import type { Blocked } from './blocked.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-unregistered': UnregisteredPage
  }
}

interface UnregisteredPage extends Paged {
  /** What was done, or is not done yet; null for nothing. */
  notice: Notice | null
  block: FormTarget & { value: string; error: Words | null }
  /** The one that somebody asked for. */
  app: {
    clientId: string
    name: string
    claim: string | null
    host: string
    hostUri: string
    authorizationsUri: string
  } | null
  rows: readonly { name: string; since: Date; unblock: FormTarget }[]
}

const PATH = '/unregistered'
const UNBLOCK = `${PATH}/unblock`
const PAGE = 50
const DONE: Readonly<Record<string, Words>> = {
  blocked: message('It is blocked, and what it had of people has ended.'),
  unblocked: message('It is not blocked any more. People have to allow it anew.'),
}
const Text = () => Type.Optional(Type.String())

interface Shown {
  readonly after?: string | undefined
  readonly clientId?: string | undefined
  readonly notice?: Notice | null
  readonly value?: string | undefined
  readonly error?: Words
}

export async function addAdminBlocked(fastify: FastifyInstance, blocked: Blocked): Promise<void> {
  const { admin, oauth, pages } = fastify
  await pages.add('admin-unregistered', new URL('../../templates/admin-unregistered.eta', import.meta.url))
  const { serve, uri, target, assertGenuine } = admin.addSection({
    text: message('Apps by address'),
    path: PATH,
    group: 'apps',
  })

  const viewOf = (client: Client) => {
    const { clientId } = client
    const { host } = new URL(clientId)
    const hostUri = uri(PATH, { client_id: host })
    const authorizationsUri = uri('/client/authorizations', { client_id: clientId })
    return { clientId, ...faceOf(client), host, hostUri, authorizationsUri }
  }

  async function show(
    call: PageCall,
    { after, clientId = '', notice = null, value = clientId, error }: Shown,
  ): Promise<FastifyReply> {
    const client = clientId === '' ? null : await oauth.findClient(clientId)
    const { names, next } = await blocked.list({ after, limit: PAGE })
    const model = {
      notice,
      block: { ...target(call, PATH, ''), value, error: error ?? null },
      app: client?.unregistered === undefined ? null : viewOf(client),
      rows: names.map(({ name, since }) => ({
        name,
        since: new Date(since),
        unblock: target(call, UNBLOCK, name),
      })),
      nextUri: next === null ? null : uri(PATH, { after: next }),
      firstUri: after === undefined ? null : uri(PATH),
    }
    return call.reply.page('admin-unregistered', model, { status: error === undefined ? 200 : 400 })
  }

  serve({
    path: `/admin${PATH}`,
    query: Type.Object({ after: Text(), client_id: Text(), done: Text() }),
    form: Type.Object({ name: Text() }),
    show: async ({ after, client_id: clientId, done }, call) =>
      show(call, { after, clientId, notice: noticeOfDone(done) }),
    async submit({ name = '' }, call) {
      assertGenuine(call, PATH, '')
      const value = name.trim()
      try {
        await blocked.block(value)
      } catch (error) {
        if (!(error instanceof OAuthError) || error.status !== 400) throw error
        return show(call, {
          value,
          error: message('This is neither the address of an app nor a host such as app.example.'),
        })
      }
      return call.reply.redirect(uri(PATH, { done: 'blocked' }), 303)
    },
    again: async ({ name }, call) => show(call, { value: name, notice: LOOK_AGAIN }),
  })
  serve({
    path: `/admin${UNBLOCK}`,
    query: Type.Object({}),
    form: Type.Object({ name: Text() }),
    show: async (_query, { reply }) => reply.redirect(uri(PATH), 303),
    async submit({ name = '' }, call) {
      assertGenuine(call, UNBLOCK, name)
      await blocked.unblock(name)
      return call.reply.redirect(uri(PATH, { done: 'unblocked' }), 303)
    },
  })
}

function noticeOfDone(done = ''): Notice | null {
  return Object.hasOwn(DONE, done) ? { kind: 'success', text: DONE[done]! } : null
}
