/** What is stored: signing keys, what still depends on a former SECRET_KEY, whether anybody may administer, and others who are registered. */
import { sleepingStreams } from '../../plugins/shared-signals/sleeping.ts'
import type { Config } from '../config.ts'
import { lossOfSecretKey } from '../services/database/data-dir.ts'
import { ADMIN } from '../services/users/user.ts'
import { DATABASE } from '../services/keys/database-keys.ts'
import { createSecretBox, type SecretBox } from '../services/keys/secret-box.ts'
import type { Place } from '../store/connections.ts'
import { openDatabase, type Database } from '../store/database.ts'
import { NAMED, statements as uses } from '../store/secret-key-uses.ts'
import { FAR_AHEAD, statements as signingKeys, type SigningKeyRow } from '../store/signing-keys.ts'
import { statements as roles } from '../store/user-roles.ts'
import { statements as users } from '../store/users.ts'
import { fail, ok, warn, type Finding } from './finding.ts'
import { examineKeyStores } from './key-stores.ts'
import { examineOthers } from './others.ts'
import { examineVouching } from './vouching.ts'

export async function examineContent(
  place: Place,
  config: Config,
  secretKey: readonly string[],
): Promise<Finding[]> {
  const database = await openDatabase({ ...place, poolSize: 2, prepare: config.DATABASE_PREPARE })
  try {
    return await examineStored(database, config, secretKey)
  } finally {
    await database.close()
  }
}

async function examineStored(
  database: Database,
  config: Config,
  secretKey: readonly string[],
): Promise<Finding[]> {
  const findings: Finding[] = []
  if (secretKey.length === 0) {
    const isNeeded = (await database.query(uses.all)).length > 0
    findings.push(
      isNeeded
        ? fail('SECRET_KEY', lossOfSecretKey(config))
        : warn('SECRET_KEY', 'There is none yet: the first start makes one in DATA_DIR.'),
    )
  } else {
    const keys = await database.query(signingKeys.all)
    const [now] = await database.query(signingKeys.now)
    findings.push(...examineKeys(keys, now!.now, createSecretBox(secretKey), config))
    findings.push(...(await examineSecretKey(database, secretKey)))
  }
  findings.push(...(await examineKeyStores(config, await database.query(signingKeys.held))))
  const [row] = await database.query(roles.hasRole, [ADMIN])
  findings.push(
    row?.found
      ? ok('administrator', 'There is an administrator.')
      : warn(
          'administrator',
          'Nobody may administer: `setup-link` prints a link that makes the first administrator.',
        ),
  )
  findings.push(examineAddresses(await database.query(users.unclaimedEmails, [SHOWN])))
  if (config.OIDC_SHARED_SIGNALS === 'off') {
    const sleeping = await sleepingStreams(database)
    if (sleeping !== null) findings.push(warn('shared signals', sleeping))
  }
  findings.push(...(await examineVouching(database, config)), ...(await examineOthers(database, config)))
  return findings
}

/** Names that are shown. */
const SHOWN = 5

function examineAddresses(unclaimed: readonly { username: string }[]): Finding {
  if (unclaimed.length === 0) return ok('addresses', 'Each verified address is that of one user.')
  const names = unclaimed.map(({ username }) => JSON.stringify(username)).join(', ')
  return warn(
    'addresses',
    `Nobody signs in by the verified address of ${names}, since others have it too: let one keep it, and set email_verified of that one again.`,
  )
}

const CHECK = 'signing keys'
const DAY = 86_400_000

/** `now` is that of the database, which dates the keys: our own clock may be wrong. */
function examineKeys(stored: readonly SigningKeyRow[], now: Date, box: SecretBox, config: Config): Finding[] {
  const rows = stored.filter(({ revokedAt }) => revokedAt === null)
  if (rows.length === 0) return [warn(CHECK, 'There are none yet: the first start makes them.')]
  const sealed = rows.filter((row) => !opens(row, box))
  if (sealed.length > 0)
    return sealed.map(({ kid }) =>
      fail(
        CHECK,
        `The signing key ${kid} cannot be decrypted: put the key it was made with into SECRET_KEY.`,
      ),
    )
  const findings: Finding[] = []
  for (const algorithm of new Set(rows.map((row) => row.algorithm))) {
    const keys = rows.filter((row) => row.algorithm === algorithm)
    const newest = keys.findLast(({ retiresAt }) => retiresAt === null)
    const age = newest === undefined ? 0 : now.getTime() - newest.signsFrom.getTime()
    const overdue = config.OIDC_KEY_ROTATE > 0 && age > config.OIDC_KEY_ROTATE * 1000 + DAY
    if (newest === undefined)
      findings.push(warn(CHECK, `${algorithm} has no key that stays: run \`key rotate\`.`))
    else if (-age > (config.OIDC_KEY_PUBLISH + FAR_AHEAD) * 1000)
      findings.push(
        fail(
          CHECK,
          `The newest ${algorithm} key ${describeAge(age, now)}, much later than OIDC_KEY_PUBLISH has it: a clock was ahead, or that was longer. Set the clock, and run \`key rotate\`, which brings it forward.`,
        ),
      )
    else if (overdue)
      findings.push(
        warn(CHECK, `${algorithm} should have a new key by now: let a server run, or run \`key rotate\`.`),
      )
    else findings.push(ok(CHECK, `${algorithm}: ${keys.length}, the newest ${describeAge(age, now)}.`))
  }
  return findings
}

function describeAge(age: number, now: Date): string {
  return age < 0
    ? `signs from ${new Date(now.getTime() - age).toISOString()}`
    : `has signed for ${Math.floor(age / DAY)} days`
}

/** What is in another store is for that to open. */
function opens({ kid, store, privateJwk }: SigningKeyRow, box: SecretBox): boolean {
  if (store !== DATABASE) return true
  try {
    box.open(privateJwk, kid)
    return true
  } catch {
    return false
  }
}

/** Nothing is left of a former key once its last use has been made anew under the first. */
async function examineSecretKey(database: Database, secretKey: readonly string[]): Promise<Finding[]> {
  const [first, ...former] = secretKey.map((key) => createSecretBox([key]))
  const found = (await database.query(uses.all)).filter(({ key }) => !first!.isCurrent(`${key}.`))
  const findings = found.map(({ key, what, count, clients }) => {
    const known = former.some((box) => box.isCurrent(`${key}.`))
    const whose = clients === null ? what : `${what} (${namesOf(clients)})`
    if (known) return warn('SECRET_KEY', `${count} ${whose} still depend on a former key: ${REMEDY[what]}.`)
    return fail(
      'SECRET_KEY',
      `${count} ${whose} were made with a key that is not in the list: put it back there.`,
    )
  })
  if (findings.length > 0) return findings
  return former.length > 0
    ? [warn('SECRET_KEY', 'Nothing depends on a former key any more: take it out of the list.')]
    : [ok('SECRET_KEY', 'All that is stored was made with it.')]
}

function namesOf(clients: readonly string[]): string {
  const shown = clients.slice(0, NAMED - 1).map((one) => JSON.stringify(one))
  return `of ${shown.join(', ')}${shown.length < clients.length ? ' and others' : ''}`
}

const REMEDY = {
  'signing keys': 'a start makes them anew',
  deliveries: 'each ends when it is made, or 30 days after it was given up',
  'server secrets': 'a start makes them anew when they are used',
  'records of plugins': 'a server that runs seals them anew, within an hour or so',
  'records of users': 'a server that runs seals them anew, within an hour or so',
  'secrets of upstreams': 'they are sealed anew by the next start',
  'client secrets': 'each is made anew when its client uses it; `client rotate-secret` for one that does not',
} as const
