/** What plugins keep that belongs to no user: an organisation, with its name and its rules. */
import { defineEntity, p } from './define.ts'

const PluginRecordSchema = defineEntity({
  name: 'PluginRecord',
  tableName: 'plugin_records',
  properties: {
    kind: p.text().primary(),
    /** The plugin's own, among the records of its kind. */
    id: p.text().fieldName('record_id').primary(),
    /** An object; where the kind asks for it a text, which is that object encrypted under SECRET_KEY. */
    value: p.json<Record<string, unknown> | string>(),
    /** Another name by which it is found, and which it alone has among its kind. */
    key: p.text().fieldName('record_key').nullable(),
    /** Grows with each replacement, for compare-and-set. */
    revision: p.integer().default(0),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  },
  uniques: [{ properties: ['kind', 'key'] }],
})

export class PluginRecord extends PluginRecordSchema.class {}
PluginRecordSchema.setClass(PluginRecord)
