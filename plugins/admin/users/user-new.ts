/** `/admin/users/new`: registers a user, with a password or with a one-time link by which they set their own. */
import type { FastifyReply } from 'fastify'
import { message } from '../../../src/protocol/message.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { createDoneOnce, type SentForm } from '../../../src/services/done-once.ts'
import type { Also } from '../../../src/services/users/update-options.ts'
import { LOOK_AGAIN } from '../../pages/expired-form.ts'
import type { PageCall } from '../../pages/index.ts'
import { SHOWN_FOR } from '../../pages/shown-once.ts'
import type { Notice } from '../../pages/models.ts'
import type { OwnArea } from '../area.ts'
import type { NewUserWay } from '../sections.ts'
import { groupsOfNew, membersOfNew, typedForNew, type Errors, type Values } from './user-fields.ts'
import { attempt, summaryOf } from './user-form.ts'
import type { HandOver } from './user-password.ts'

const PATH = '/users/new'

export function addNewUser(area: OwnArea, handOver: HandOver): void {
  const { oauth, serve, uri, userUri } = area
  const registered = createDoneOnce<{ user: string }>(area.kernel, 'admin-new-user', SHOWN_FOR)

  function show(
    call: PageCall,
    values: Values,
    { errors = {}, notice = null }: { errors?: Errors; notice?: Notice | null } = {},
  ): FastifyReply {
    const form = {
      ...area.target(call, PATH, ''),
      groups: groupsOfNew(values, errors, area.kernel.config.OIDC_PASSWORD_MIN_LENGTH),
      error: summaryOf(errors),
    }
    const status = form.error === null ? 200 : 400
    const ways = area.newUserWays.filter((way) => way.isOn()).map(({ id, text }) => ({ id, text }))
    return call.reply.page('admin-user-new', { notice, form, ways, listUri: uri('/users') }, { status })
  }

  async function refusalOf(way: NewUserWay | undefined, values: Values): Promise<Errors | undefined> {
    if (way === undefined) return undefined
    if (values['password'] !== '') return { password: message('Leave it empty: they choose their own.') }
    const email = await way.refusalOf(values['email']?.trim() ?? '')
    return email === undefined ? undefined : { email }
  }

  const toUser = ({ reply }: PageCall, id: string): FastifyReply =>
    reply.redirect(`${userUri(id)}&done=registered`, 303)

  /** Where the same form has led that came first; undefined where there was none. */
  async function leadAgain(
    call: PageCall,
    sent: SentForm,
    { password = '' }: Values,
    way: NewUserWay | undefined,
  ): Promise<FastifyReply | undefined> {
    const made = await registered.find(sent)
    const user = made === null ? null : await oauth.findUser(made.user)
    if (user === null) return undefined
    if (password !== '' && !(await oauth.users.hasPassword(user.username, password))) return undefined
    if (way?.again !== undefined) return way.again(user, call)
    return password === '' && way === undefined ? handOver.again(call, user) : toUser(call, user.id)
  }

  serve({
    path: `/admin${PATH}`,
    query: Type.Object({}),
    form: Type.Object({}),
    show: async (_query, call) => show(call, {}),
    async submit(_form, call) {
      const { session } = area.assertGenuine(call, PATH, '')
      const values = typedForNew(call.wire)
      const again = values['roles'] === '' ? undefined : area.signInAgain(call, uri(PATH))
      if (again !== undefined) return again
      const way = area.newUserWays.find(({ id, isOn }) => id === call.wire['way'] && isOn())
      const refusal = await refusalOf(way, values)
      if (refusal !== undefined) return show(call, values, { errors: refusal })
      const sent = { form: JSON.stringify({ ...call.wire, password: '' }), browser: session.sid }
      const also: Also = async (query, _note, user) => registered.noteAnew(query, sent, { user })
      const result = await attempt(async () => oauth.users.create(membersOfNew(values), { also }))
      if ('errors' in result) return (await leadAgain(call, sent, values, way)) ?? show(call, values, result)
      if (way !== undefined) return way.submit(result, call)
      if (values['password'] === '') return handOver.toNew(call, result)
      return toUser(call, result.id)
    },
    again: async (_form, call) => show(call, typedForNew(call.wire), { notice: LOOK_AGAIN }),
  })
}
