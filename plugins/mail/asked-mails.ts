/**
 * How often strangers may have mails sent to an address. Each mail counts, whoever asks for it: nobody is to be sent hundreds. From one network most of what
 * there is for an address cannot be used up for good. Who comes with a browser in which the account has signed in before has mails of their own, whatever
 * strangers ask for; nobody else learns of it, as they would of what is spared a network (docs/adr/0076).
 */
import type { ThrottleLimits } from '../../src/services/throttle/throttle-limits.ts'

export const ASKED_MAILS: ThrottleLimits = {
  account: { failures: 10, recovery: 3600 },
  network: { failures: 40, recovery: 60 },
  everywhere: { failures: 20, recovery: 600 },
  marked: { failures: 10, recovery: 600 },
}
