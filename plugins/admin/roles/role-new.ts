/** `/admin/roles/new`: registers a role, which nobody has yet. */
import type { FastifyReply } from 'fastify'
import { message, type Words } from '../../../src/protocol/message.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { LOOK_AGAIN } from '../../pages/expired-form.ts'
import type { PageCall } from '../../pages/index.ts'
import type { Notice } from '../../pages/models.ts'
import type { OwnArea } from '../area.ts'
import { createMadeBefore } from '../made-before.ts'
import { refusalOf } from './role-page.ts'

const PATH = '/roles/new'
const Form = Type.Object({ name: Type.Optional(Type.String()) })

export function addNewRole(area: OwnArea): void {
  const { kernel, uri } = area
  const before = createMadeBefore(kernel, 'role')

  function show(
    call: PageCall,
    value: string,
    { error = null, notice = null }: { error?: Words | null; notice?: Notice | null } = {},
  ): FastifyReply {
    const field = {
      name: 'name',
      label: message('Name'),
      hint: message('Without spaces and commas. Apps read it letter by letter.'),
      kind: 'text' as const,
      autocomplete: 'off',
      options: [],
      value,
      error,
    }
    const page = {
      ...area.target(call, PATH, ''),
      section: 'Roles',
      heading: message('Register a role'),
      lead: message('What somebody with it may do is for your apps to say.'),
      deleteText: '',
      id: '',
      notice,
      note: null,
      version: '',
      error: error === null ? null : message('Please look at the marked fields.'),
      types: [],
      type: '',
      fields: [field],
      more: null,
      related: null,
      endings: [],
      deletion: null,
      listUri: uri('/roles'),
      listText: message('Roles'),
    }
    return call.reply.page('admin-record', page, { status: error === null ? 200 : 400 })
  }

  area.serve({
    path: `/admin${PATH}`,
    query: Type.Object({}),
    form: Form,
    show: async (_query, call) => show(call, ''),
    async submit({ name: typed = '' }, call) {
      const administrator = area.assertGenuine(call, PATH, '')
      const name = typed.trim().normalize('NFC')
      const error = await refusalOf(kernel.roles.create(name))
      if (error === null) await before.note(administrator, call.wire)
      else if (!(await before.isMade(administrator, call.wire))) return show(call, typed, { error })
      return call.reply.redirect(uri('/role', { name, done: 'registered' }), 303)
    },
    again: async ({ name = '' }, call) => show(call, name, { notice: LOOK_AGAIN }),
  })
}
