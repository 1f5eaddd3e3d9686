/** How many failures are remembered of whom: one instant a row, so that a failure is one guarded statement. */
import { defineEntity, p } from './define.ts'

const ThrottleSchema = defineEntity({
  name: 'Throttle',
  tableName: 'throttles',
  properties: {
    /** Keyed hash of kind and network: what was tried from one place lies together. */
    source: p.text().primary(),
    /** Keyed hash of kind and account, since what was typed as a user name may be a password; `*` for all of them. */
    account: p.text().primary(),
    /** The earliest next try; how far it lies in the past says how many failures are left. */
    freeAt: p.datetime().index(),
  },
})

export class Throttle extends ThrottleSchema.class {}
ThrottleSchema.setClass(Throttle)
