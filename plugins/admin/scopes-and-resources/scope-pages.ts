/** `/admin/scopes`: what clients may ask for, what people read of it, and which resource it belongs to. */
import { message } from '../../../src/protocol/message.ts'
import type { ScopeInformation } from '../../../src/services/resource-registry.ts'
import type { OwnArea } from '../area.ts'
import { SCOPES_AND_RESOURCES } from './record-kind.ts'
import { addRecordPages } from './record-pages.ts'

/** Resources that the field offers. */
const SUGGESTED = 100

export function addScopePages(area: OwnArea): void {
  const { resources, issuer } = area.oauth
  const ofDefault = message('{issuer} (the default)', { issuer })

  addRecordPages<ScopeInformation>(area, area.kernel, {
    ...SCOPES_AND_RESOURCES,
    path: '/scope',
    words: {
      list: message('Scopes'),
      listLead: message(
        'What clients may ask for, beyond the scopes of OpenID Connect. A client also needs it in its own list.',
      ),
      new: message('Register a scope'),
      one: 'scope',
      none: message('There is no such scope'),
      delete: message('Delete this scope'),
      deleted: message('The scope is deleted.'),
      notItsName: message('This is not the name of this scope.'),
      lead: message('What clients may ask for, once it is in their list.'),
      endings: [
        message('Apps that sign people in no longer get it, from the next sign-in on.'),
        message('No client may have it in its list any more: take it out there first.'),
        message(
          'Tokens that have it are good until they expire. An approval for another resource than the default one can no longer be refreshed with it.',
        ),
      ],
    },
    columns: [message('Name'), message('What people read'), message('Resource')],
    identifier: {
      name: 'name',
      label: message('Name'),
      hint: message('As it stands in requests and tokens, such as read:books. It cannot be changed later.'),
    },
    async fields() {
      const known = await resources.listResources({ limit: SUGGESTED })
      const options = known.map(({ resource, name = resource }) => ({ value: resource, text: name }))
      return [
        {
          name: 'description',
          label: message('What people read'),
          kind: 'prose',
          hint: message('They see it when they are asked to allow it, such as: Read your books.'),
        },
        {
          name: 'resource',
          label: message('Resource'),
          kind: 'url',
          options,
          hint: message('Which API it is for: the audience of its tokens. Empty: {other}.', {
            other: ofDefault,
          }),
        },
      ]
    },
    cellsOf: ({ description = '', resource = ofDefault }) => [description, resource],
    valuesOf: ({ description = '', resource = '' }) => ({ description, resource }),
    list: async (options) => resources.listScopes(options),
    find: async (name) => resources.findScope(name),
    save: async ({ name = '', ...values }, options) => {
      const members = Object.entries(values).map(([member, value]) => [member, value || null])
      await resources.saveScope({ name, ...Object.fromEntries(members) }, options)
    },
    delete: async (name) => resources.deleteScope(name),
    related: async () => null,
  })
}
