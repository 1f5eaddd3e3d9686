/** How often strangers may have mails sent to an address. Each mail counts, whoever asks for it: nobody is to be sent hundreds. */
import type { ThrottleLimits } from '../../src/services/throttle/throttle-limits.ts'

export const ASKED_MAILS: ThrottleLimits = {
  account: { failures: 10, recovery: 600 },
  network: { failures: 40, recovery: 60 },
  everywhere: { failures: 20, recovery: 600 },
}
