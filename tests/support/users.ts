/** A user registry on a database of its own, without a server around it; and what a user may have that can end. */
import { randomUUID } from 'node:crypto'
import { createAudit, type AuditTrail } from '../../src/services/audit/audit.ts'
import { createChangeFeed } from '../../src/services/change-feed.ts'
import { createDirectory, type Directory } from '../../src/services/directory.ts'
import { createHashChosen } from '../../src/services/users/chosen-passwords.ts'
import { djangoPasswords } from '../../src/services/users/django-passwords.ts'
import { createHashingQueue, type HashingQueue } from '../../src/services/hashing/hashing-queue.ts'
import { createPasswords } from '../../src/services/users/passwords.ts'
import { createSecretBox } from '../../src/services/keys/secret-box.ts'
import { createUserChange } from '../../src/services/users/user-changes.ts'
import { createUserRegistry, type UserRegistry } from '../../src/services/users/user-registry.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
import { atEndOfFile } from './cleanup.ts'
import { createDatabase, type TestDatabase } from './database.ts'
import { recordingLog } from './log.ts'

export interface TestUsers {
  users: UserRegistry
  audit: AuditTrail
  directory: Directory
  database: Database
  rows: TestDatabase
  /** How many passwords were hashed or compared so far, by the queue that all pass. */
  hashed(): number
  output(): string
}

export async function openUsers(production = false, rows?: TestDatabase): Promise<TestUsers> {
  const ownRows = rows ?? (await createDatabase())
  const database = await openDatabase({ url: ownRows.url })
  const { log, output } = recordingLog()
  const feed = createChangeFeed(database, log)
  await feed.start()
  atEndOfFile(async () => {
    await feed.stop()
    await database.close()
  })
  const queue = createHashingQueue()
  let hashed = 0
  const counted: HashingQueue = {
    ...queue,
    run: async (work) => {
      hashed++
      return queue.run(work)
    },
  }
  const passwords = createPasswords(counted, djangoPasswords)
  const audit = createAudit(database, log)
  const box = createSecretBox(['the secret key of a test, long enough'])
  const users = createUserRegistry({
    database,
    audit,
    box,
    changeUser: createUserChange(audit, feed),
    passwords,
    hashChosen: createHashChosen({ passwords, production, log }),
    waysInBy: async () => ['password'],
    log,
  })
  const directory = createDirectory(database, feed)
  return { users, audit, directory, database, rows: ownRows, hashed: () => hashed, output }
}

/** Gives the user a session, and of it a code on its way, an Authorization, and one with `offline_access`. */
export async function giveEverything({ query }: TestDatabase, userId: string): Promise<{ sid: string }> {
  const sid = randomUUID()
  const authentication = { sid, time: 0, amr: ['pwd'] }
  await query(
    `insert into sessions (hash, sid, user_id, authenticated_at, amr, expires_at, ends_at)
     values ($1, $2, $3, now(), '{pwd}', now() + interval '1 day', now() + interval '1 day')`,
    [`session of ${sid}`, sid, userId],
  )
  await query(
    `insert into authorization_codes (authorization_id, hash, client_id, subject, redirect_uri, granted, expires_at)
     values ($1, $2, 'client', $3, 'https://rp.example/cb', $4, now() + interval '5 minutes')`,
    [randomUUID(), `code of ${sid}`, userId, { scopes: ['openid'], authentication }],
  )
  for (const scopes of [['openid'], ['openid', 'offline_access']]) {
    await query(
      `insert into authorizations (id, client_id, subject, scopes, resources, parameters, authentication)
       values ($1, 'client', $2, $3, '{}', '{}', $4)`,
      [randomUUID(), userId, scopes, authentication],
    )
  }
  return { sid }
}

/** What of it is left: the number of each kind. */
export async function whatIsLeft({ query }: TestDatabase, userId: string): Promise<Record<string, number>> {
  const [left] = await query(
    `select (select count(*)::int from sessions where user_id = $1) as sessions,
       (select count(*)::int from authorization_codes where subject = $1::text and spent_at is null) as codes,
       (select count(*)::int from authorizations where subject = $1::text and revoked_at is null) as authorizations`,
    [userId],
  )
  return left as Record<string, number>
}
