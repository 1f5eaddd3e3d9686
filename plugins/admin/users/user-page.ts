/**
 * `/admin/user`: one user, to look at and to change. What may be done to them, beside what is known of them, is in
 * `user-actions.ts` and `user-password.ts`.
 */
import { randomUUID } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { message, type Words } from '../../../src/protocol/message.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { NoWayIn } from '../../../src/services/users/lost-ways.ts'
import { ADMIN, type User } from '../../../src/services/users/user.ts'
import { LOOK_AGAIN } from '../../pages/expired-form.ts'
import type { PageCall } from '../../pages/index.ts'
import type { Notice } from '../../pages/models.ts'
import { seenVersion } from '../../pages/seen-version.ts'
import type { OwnArea } from '../area.ts'
import { noSuchUser } from '../not-there.ts'
import { SIGNED_IN_AGAIN } from '../notice.ts'
import {
  changesOf,
  groupsOf,
  problemsOf,
  rolesIn,
  typedIn,
  valuesOf,
  type Errors,
  type Values,
} from './user-fields.ts'
import { attempt, FORM, summaryOf } from './user-form.ts'
import { authorizationsOf, sessionsOf } from './user-holdings.ts'

const PATH = '/user'
const CHANGED_MEANWHILE = message(
  'The user was changed meanwhile. Nothing is saved yet: saving now puts what stands here in its place.',
)
class ChangedMeanwhile extends Error {}
/** What the field `confirm` says that an administrator has been told. */
const LOSING_ADMIN = 'losing-admin'
const LOSING_WAY_IN = 'losing-way-in'
const DONE: Readonly<Record<string, Words>> = {
  registered: message('The user is registered.'),
  saved: message('Saved. Every endpoint knows it within two seconds.'),
  disabled: message('The user is disabled: every session and token of theirs has ended.'),
  enabled: message('The user may sign in again.'),
  session: message('The session has ended.'),
  factors: message('Their second factor is taken away, with their recovery codes.'),
  sessions: message('All sessions have ended.'),
  revoked: message('The authorization is revoked.'),
  tokens: message('The user is signed out everywhere, and no app holds anything of theirs any more.'),
}

/** What the page says besides what is known of the user. */
export interface Shown {
  done?: Notice | null
  refused?: Words
  values?: Values
  errors?: Errors
  confirm?: string
  after?: string | undefined
  deletion?: { error: Words; typed: string }
}

export async function getUser(area: OwnArea, id = ''): Promise<User> {
  try {
    return await area.oauth.users.get(id)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    throw noSuchUser(area)
  }
}

export async function showUser(
  area: OwnArea,
  call: PageCall,
  user: User,
  { done = null, refused, values = valuesOf(user), errors = {}, confirm = '', after, deletion }: Shown = {},
): Promise<FastifyReply> {
  const { id, username, disabled } = user
  const target = (path: string) => area.target(call, path, id)
  const sessions = await sessionsOf(area, call, id)
  const parts = await Promise.all(
    area.userParts.map(async ({ part, model }) => ({ part, model: await model(user, call) })),
  )
  const model = {
    id,
    username,
    disabled,
    confirm,
    sessions,
    title: (user.claims['name'] as string | undefined) ?? username,
    isSelf: area.administratorOf(call.request).user.id === id,
    done,
    refused: refused ?? null,
    form: {
      ...target(PATH),
      groups: groupsOf(values, errors, area.kernel.languages.tags),
      error: summaryOf(errors),
    },
    version: versionOf(user),
    hasPassword: await area.oauth.users.canSignInByPassword(username),
    parts: parts.filter((one): one is { part: string; model: object } => one.model !== null),
    passwordLink: disabled ? null : { ...target('/user/password-link'), newId: randomUUID() },
    resetFactors: (await area.oauth.users.hasFactors(id)) ? target('/user/reset-factors') : null,
    disable: disabled ? null : target('/user/disable'),
    enable: disabled ? target('/user/enable') : null,
    revokeTokens: disabled ? null : target('/user/revoke-tokens'),
    endSessions: sessions.length > 0 ? target('/user/end-sessions') : null,
    deletion: { ...target('/user/delete'), error: deletion?.error ?? null, typed: deletion?.typed ?? '' },
    ...(await authorizationsOf(area, call, id, after)),
    auditUri: area.uri('/audit', { user: id }),
    listUri: area.uri('/users'),
  }
  const wrong = refused !== undefined || deletion !== undefined || model.form.error !== null
  return call.reply.page('admin-user', model, { status: wrong ? 400 : 200 })
}

/** Before what asks for a sign-in of a moment ago: undefined where there was one. */
export function signInFor(area: OwnArea, call: PageCall, id: string): FastifyReply | undefined {
  return area.signInAgain(call, `${area.userUri(id)}&done=again`)
}

export function addUserPage(area: OwnArea): void {
  const { oauth, serve, userUri } = area
  const Text = Type.Optional(Type.String())

  /** Errors that stand in the way of it; `confirm` where an administrator must first say that they mean it. */
  async function save(
    call: PageCall,
    user: User,
    values: Values,
  ): Promise<Pick<Shown, 'errors' | 'confirm'> | undefined> {
    const shown = valuesOf(user)
    const errors = problemsOf(values, shown)
    if (Object.keys(errors).length > 0) return { errors }
    const isSelf = area.administratorOf(call.request).user.id === user.id
    const loses = user.roles.includes(ADMIN) && !rolesIn(values['roles'] ?? '').includes(ADMIN)
    const { confirm: said = '' } = call.wire
    const confirmed = typeof said === 'string' ? said.split(' ') : []
    if (isSelf && loses && !confirmed.includes(LOSING_ADMIN)) {
      const roles = message(
        'This is your own account: without admin you cannot come back here. Save once more if you mean it.',
      )
      return { errors: { roles }, confirm: [...confirmed, LOSING_ADMIN].join(' ') }
    }
    const changes = changesOf(values, shown)
    if (Object.keys(changes).length === 0) return undefined
    const judge = (now: User): void => {
      if (versionOf(now) !== versionOf(user)) throw new ChangedMeanwhile()
    }
    try {
      const keepsWayIn = !confirmed.includes(LOSING_WAY_IN)
      const options = { keepOneWith: ADMIN, mayRename: true, judge, keepsWayIn }
      const result = await attempt(async () => oauth.users.update(user, changes, options))
      return 'errors' in result ? result : undefined
    } catch (error) {
      if (error instanceof NoWayIn) {
        const email = message(
          'Without this verified address the user has no way to sign in. Save once more if you mean it, or make a link for a password first.',
        )
        return { errors: { email }, confirm: [...confirmed, LOSING_WAY_IN].join(' ') }
      }
      if (!(error instanceof ChangedMeanwhile)) throw error
      return { errors: { [FORM]: CHANGED_MEANWHILE } }
    }
  }

  serve({
    path: `/admin${PATH}`,
    query: Type.Object({ id: Text, done: Text, after: Text }),
    form: Type.Object({ id: Text, version: Text, confirm: Text }),
    show: async ({ id, done, after }, call) =>
      showUser(area, call, await getUser(area, id), { done: noticeOfDone(done), after }),
    async submit({ id = '', version }, call) {
      area.assertGenuine(call, PATH, id)
      const user = await getUser(area, id)
      const values = typedIn(call.wire)
      const saved = () => call.reply.redirect(`${userUri(id)}&done=saved`, 303)
      if (version !== versionOf(user))
        // One that comes again has been saved before.
        return Object.keys(changesOf(values, valuesOf(user))).length === 0
          ? saved()
          : showUser(area, call, user, { values, errors: { [FORM]: CHANGED_MEANWHILE } })
      const again = isGrave(values, user) ? signInFor(area, call, id) : undefined
      if (again !== undefined) return again
      const refused = await save(call, user, values)
      return refused === undefined
        ? saved()
        : showUser(area, call, await getUser(area, id), { values, ...refused })
    },
    async again({ id, version }, call) {
      const user = await getUser(area, id)
      const values = typedIn(call.wire)
      return version === versionOf(user)
        ? showUser(area, call, user, { values, done: LOOK_AGAIN })
        : showUser(area, call, user, { values, errors: { [FORM]: CHANGED_MEANWHILE } })
    },
  })
}

/** The name, by which they sign in; roles; and the address: whoever reads the mails of a confirmed one sets a password by it. */
function isGrave(values: Values, user: User): boolean {
  const shown = valuesOf(user)
  const isOther = ['username', 'email', 'email_verified'].some((name) => values[name] !== shown[name])
  return isOther || rolesIn(values['roles'] ?? '').join(' ') !== user.roles.join(' ')
}

function noticeOfDone(done = ''): Notice | null {
  if (done === 'again') return SIGNED_IN_AGAIN
  return Object.hasOwn(DONE, done) ? { kind: 'success', text: DONE[done]! } : null
}

function versionOf(user: User): string {
  return seenVersion(valuesOf(user))
}
