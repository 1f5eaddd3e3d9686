/** `/admin/role`: one role, and who has it. What is done to it is in `role-actions.ts`. */
import type { FastifyReply } from 'fastify'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { message, sentenceOf, type Words } from '../../../src/protocol/message.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { createRoleLists, type CountedRole } from '../../../src/services/users/role-lists.ts'
import { ADMIN } from '../../../src/services/users/user.ts'
import type { PageCall } from '../../pages/index.ts'
import type { Notice } from '../../pages/models.ts'
import type { OwnArea } from '../area.ts'
import { NotThere } from '../not-there.ts'
import { SIGNED_IN_AGAIN } from '../notice.ts'
import { countOf, directoriesOf } from './role-words.ts'

export const PATH = '/role'
const PAGE = 50
const DONE: Readonly<Record<string, Words>> = {
  registered: message('The role is registered.'),
  added: message('The user has the role now. Every endpoint knows it within two seconds.'),
  removed: message('The user no longer has the role. Every endpoint knows it within two seconds.'),
  renamed: message('The role has another name now, and so have all who had it.'),
}

/** What was typed into one of the forms, and what is wrong with it. */
interface Typed {
  readonly error: Words
  readonly typed: string
}

export interface Shown {
  done?: Notice | null
  refused?: Words
  add?: Typed
  rename?: Typed
  deletion?: Typed
  search?: string
  after?: string | undefined
}

export async function getRole({ kernel, uri }: OwnArea, name = ''): Promise<CountedRole> {
  const role = await kernel.roles.find(name)
  if (role !== null) return role
  throw new NotThere('no role has this name', {
    section: 'Roles',
    title: message('There is no such role'),
    listUri: uri('/roles'),
    listText: message('Roles'),
  })
}

export async function showRole(
  area: OwnArea,
  call: PageCall,
  role: CountedRole,
  { done = null, refused, add, rename, deletion, search = '', after }: Shown = {},
): Promise<FastifyReply> {
  const { kernel, uri } = area
  const { name, displayName, isChanging } = role
  const self = area.administratorOf(call.request).user.id
  const listing = await area.listing(call)
  const more = await createRoleLists(listing, kernel).members(role, {
    search,
    after: after ?? '',
    limit: PAGE + 1,
  })
  const found = more.slice(0, PAGE)
  const field = (path: string, typed?: Typed) => ({
    ...area.target(call, `${PATH}${path}`, name),
    ...(typed ?? { error: null, typed: '' }),
  })
  const isOurs = kernel.roles.isOurs(role) && !isChanging
  const place = { name, ...(search === '' ? {} : { search }) }
  const model = {
    name,
    displayName: displayName === name ? null : displayName,
    done,
    refused: refused ?? null,
    isChanging,
    directories: await directoriesOf(area, role),
    count: countOf(role),
    search,
    searchUri: uri(PATH),
    allUri: search === '' ? null : uri(PATH, { name }),
    nextUri: more.length > PAGE ? uri(PATH, { ...place, after: found.at(-1)!.username }) : null,
    firstUri: after === undefined ? null : uri(PATH, place),
    members: found.map(({ id, username, claims, disabled }) => ({
      id,
      username,
      href: area.userUri(id),
      about: [claims['name'], claims['email']].filter((one) => typeof one === 'string').join(', '),
      disabled,
      remove: name === ADMIN && id === self ? null : area.target(call, `${PATH}/remove`, `${name} ${id}`),
    })),
    add: field('/add', add),
    rename: isOurs ? field('/rename', rename) : null,
    deletion: isOurs ? field('/delete', deletion) : null,
    listUri: uri('/roles'),
  }
  const wrong = [refused, add, rename, deletion].some((one) => one !== undefined)
  return call.reply.page('admin-role', model, { status: wrong ? 400 : 200 })
}

/** Why it was refused, at the field or of the form; null where it was done. */
export async function refusalOf(work: Promise<unknown>): Promise<Words | null> {
  try {
    await work
    return null
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status < 400 || error.status >= 500) throw error
    return sentenceOf(error.about?.reason ?? error.message)
  }
}

export function addRolePage(area: OwnArea): void {
  const Text = Type.Optional(Type.String())
  area.serve({
    path: `/admin${PATH}`,
    query: Type.Object({ name: Text, done: Text, search: Text, after: Text }),
    show: async ({ name, done, search = '', after }, call) =>
      showRole(area, call, await getRole(area, name), {
        done: noticeOf(done),
        search: search.trim(),
        after,
      }),
  })
}

function noticeOf(done = ''): Notice | null {
  if (done === 'again') return SIGNED_IN_AGAIN
  return Object.hasOwn(DONE, done) ? { kind: 'success', text: DONE[done]! } : null
}
