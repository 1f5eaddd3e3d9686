/** The outbox of one process, of its real parts and without a server: several of them may share a database. */
import type { TObject } from 'typebox'
import type { Delivery } from '../../src/doors/outbound.ts'
import { createAudit, type AuditTrail } from '../../src/services/audit/audit.ts'
import { createChangeFeed } from '../../src/services/change-feed.ts'
import { createDirectory } from '../../src/services/directory.ts'
import { createSecretBox } from '../../src/services/keys/secret-box.ts'
import { createCourier } from '../../src/services/outbox/courier.ts'
import { createGivenUpDeliveries, type GivenUpDeliveries } from '../../src/services/outbox/given-up.ts'
import { createOutbox, type Outbox, type OutboxTrail } from '../../src/services/outbox/outbox.ts'
import { createRecipients, type OwnRecipients } from '../../src/services/outbox/recipients.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { atEndOfFile } from './cleanup.ts'
import type { TestDatabase } from './database.ts'
import { recordingLog } from './log.ts'

export interface PostOffice {
  outbox: Outbox & OutboxTrail
  audit: AuditTrail
  givenUp: GivenUpDeliveries
  recipients: OwnRecipients
  /** By which all parts ask. */
  through: Database
  /** The names of the statements that were asked so far. */
  asked: string[]
  output(): string
  stop(): Promise<void>
}

export interface PostOfficeOptions {
  secretKey?: string
  /** Whether it delivers what is enqueued. Default true. */
  serves?: boolean
  /** Milliseconds for an attempt. */
  limit?: number
  /** Milliseconds for what is under way when it stops. */
  stopLimit?: number
  /** What may wait, for one recipient. */
  mostWaiting?: number
}

export async function openPostOffice(
  { url }: TestDatabase,
  deliveries: readonly Delivery[],
  {
    secretKey = 'a secret key of thirty-two characters',
    serves = true,
    mostWaiting,
    ...limits
  }: PostOfficeOptions = {},
): Promise<PostOffice> {
  const opened = await openDatabase({ url, poolSize: 5 })
  const asked: string[] = []
  const database: typeof opened = {
    ...opened,
    query: async (statement, values) => {
      asked.push(statement.name)
      return opened.query(statement, values)
    },
  }
  const { log, output } = recordingLog()
  const box = createSecretBox([secretKey])
  const feed = createChangeFeed(database, log)
  const registered = new Map(deliveries.map((one) => [one.kind, one]))
  const { cachedClient } = createDirectory(database, feed)
  const parts = { database, box, feed, log, deliveries: () => registered, cachedClient }
  const outbox = createOutbox(parts)
  const audit = createAudit(database, log, 'each', outbox)
  const recipients = createRecipients({
    ...parts,
    audit,
    ...(mostWaiting === undefined ? {} : { mostWaiting }),
  })
  const courier = createCourier({ ...parts, audit, recipients, ...limits })
  await feed.start()
  audit.start()
  if (serves) courier.start()
  const stop = atEndOfFile(async () => {
    await courier.stop()
    await recipients.stop()
    await feed.stop()
    await audit.stop()
    await outbox.stop()
    await opened.close()
  })
  const givenUp = createGivenUpDeliveries(database, audit, outbox)
  return { outbox, audit, givenUp, recipients, through: database, asked, output, stop }
}

/** As `oauth.deliver` takes it. */
export function deliveryOf<P extends TObject>(delivery: Delivery<P>): Delivery {
  return delivery
}
