/** Whom a receiver does not want to hear of, by the `sub` that it knows them by: what it removed from its stream. */
import { defineEntity, p } from './define.ts'

const RemovedSubjectSchema = defineEntity({
  name: 'RemovedSubject',
  tableName: 'removed_subjects',
  properties: {
    /** The `stream_id`. */
    stream: p.text().primary(),
    subject: p.text().primary(),
  },
})

export class RemovedSubject extends RemovedSubjectSchema.class {}
RemovedSubjectSchema.setClass(RemovedSubject)
