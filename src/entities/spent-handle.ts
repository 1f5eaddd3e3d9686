/** What may be used once and was: the `jti` of an assertion, of a proof. */
import { defineEntity, p } from './define.ts'

const SpentHandleSchema = defineEntity({
  name: 'SpentHandle',
  tableName: 'spent_handles',
  properties: {
    /** SHA-256 of kind and handle; under no key, so that two processes with other first keys mean the same. */
    hash: p.text().primary(),
    /** From then on nobody takes the handle for good any more. */
    expiresAt: p.datetime().index(),
  },
})

export class SpentHandle extends SpentHandleSchema.class {}
SpentHandleSchema.setClass(SpentHandle)
