/** The attributes of a group (RFC 7643 §4.2), as `/Schemas` shows them. */
import type { Schema } from './attributes.ts'
import { GROUP } from './messages.ts'

export const GROUP_SCHEMA: Schema = {
  id: GROUP,
  name: 'Group',
  description: 'People who have a role',
  attributes: [
    { name: 'displayName', type: 'string', required: true, uniqueness: 'server', description: 'Its name; the role of its members is made of it.' },
    {
      name: 'members',
      type: 'complex',
      multiValued: true,
      description: 'Who is in it.',
      subAttributes: [
        { name: 'value', type: 'string', caseExact: true, mutability: 'immutable', description: 'The id of a user.' },
        { name: '$ref', type: 'reference', referenceTypes: ['User'], caseExact: true, mutability: 'immutable', description: 'Their address.' },
        { name: 'type', type: 'string', canonicalValues: ['User'], mutability: 'immutable', description: 'What they are.' },
      ],
    },
  ],
} // prettier-ignore
