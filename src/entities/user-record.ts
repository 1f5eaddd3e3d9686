/** What plugins keep of a user: a factor, a linked sign-in, a choice. Gone with the user. */
import { defineEntity, p } from './define.ts'
import { User } from './user.ts'

const UserRecordSchema = defineEntity({
  name: 'UserRecord',
  tableName: 'user_records',
  properties: {
    user: () => p.manyToOne(User).fieldName('user_id').primary().deleteRule('cascade'),
    kind: p.text().primary(),
    /** The plugin's own, among the records of its kind and user. */
    id: p.text().fieldName('record_id').primary(),
    /** As JSON; `{ sealed }` under SECRET_KEY where the kind asks for it. */
    value: p.json<Record<string, unknown>>(),
    /** Grows with each replacement, for compare-and-set. */
    revision: p.integer().default(0),
    /** `kind id`, where one user at most may have a record of this id. */
    uniqueId: p.text().nullable().unique(),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  },
})

export class UserRecord extends UserRecordSchema.class {}
UserRecordSchema.setClass(UserRecord)
