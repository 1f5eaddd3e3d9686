/** Who does what is enqueued, put together: what is tried, for whom, and what was given up. What enqueues is before them, with the audit log. */
import type { FastifyBaseLogger } from 'fastify'
import type { Delivery } from '../../doors/outbound.ts'
import type { Database } from '../../store/database.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { createCourier, type Courier } from './courier.ts'
import { createGivenUpDeliveries, type GivenUpDeliveries } from './given-up.ts'
import type { OutboxTrail } from './outbox.ts'
import { createRecipients, type Recipients } from './recipients.ts'

export interface DeliveryServices {
  /** Not started with the others: by who listens. */
  readonly courier: Courier
  readonly recipients: Recipients
  readonly givenUpDeliveries: GivenUpDeliveries
}

/** @internal */
export interface DeliveryServicesOptions {
  database: Database
  audit: AuditTrail
  box: SecretBox
  feed: ChangeFeed
  log: FastifyBaseLogger
  deliveries: () => ReadonlyMap<string, Delivery>
  outbox: OutboxTrail
}

/** @internal */
export interface OwnDeliveryServices extends DeliveryServices {
  /** For the janitor, by what they are: some of what is too much; how many. */
  readonly excesses: Readonly<Record<string, () => Promise<number>>>
  stop(): Promise<void>
}

/** @internal */
export function createDeliveryServices(options: DeliveryServicesOptions): OwnDeliveryServices {
  const { database, audit, outbox } = options
  const recipients = createRecipients(options)
  const courier = createCourier({ ...options, recipients })
  return {
    courier,
    recipients,
    givenUpDeliveries: createGivenUpDeliveries(database, audit, outbox),
    excesses: { waitingInExcess: recipients.giveUpExcess, givenUp: recipients.removeExcess },
    async stop() {
      await courier.stop()
      await recipients.stop()
    },
  }
}
