/** Signing keys at rest. That a key has one successor is the database's unique constraint, not our care. */
import { SigningKey } from '../entities/signing-key.ts'
import { type Query, statement } from './statement.ts'

const COLUMNS = [
  'kid', 'algorithm', 'predecessor', 'publicJwk', 'privateJwk', 'store', 'reference', 'createdAt', 'signsFrom', 'retiresAt',
  'revokedAt',
] as const // prettier-ignore

/**
 * Seconds beyond the time for which new keys are published: a key that signs later still was dated by a clock that was ahead, or under a
 * longer time.
 */
export const FAR_AHEAD = 300

export type SigningKeyRow = Pick<SigningKey, (typeof COLUMNS)[number]>

export const statements = {
  /** Those that are published, and those that were revoked not long ago, oldest first. */
  all: statement<SigningKeyRow>('signing-keys', (table) => {
    const { name, column, columns } = table(SigningKey)
    return `select ${columns(...COLUMNS)} from ${name}
      where ${column('retiresAt')} is null or ${column('retiresAt')} > now() or ${column('revokedAt')} is not null
      order by ${column('signsFrom')}`
  }),
  /** By the clock that keys are dated by. */
  now: statement<{ now: Date }>('signing-keys-now', () => 'select now() as "now"'),
  /** Where all are that have a row, dead ones too. */
  held: statement<Pick<SigningKeyRow, 'store' | 'reference'>>('signing-keys-held', (table) => {
    const { name, columns } = table(SigningKey)
    return `select ${columns('store', 'reference')} from ${name}`
  }),
  /** One that signs from $8 on, and not before $9 seconds from now, by the database's clock; null for any time. */
  insert: statement<Pick<SigningKey, 'signsFrom'>>('signing-key-insert', (table) => {
    const key = table(SigningKey)
    const columns = (
      [
        'kid',
        'algorithm',
        'predecessor',
        'publicJwk',
        'privateJwk',
        'store',
        'reference',
        'signsFrom',
      ] as const
    ).map((one) => key.column(one))
    return `insert into ${key.name} (${columns.join(', ')}) values ($1, $2, $3, $4, $5, $6, $7,
      greatest($8::timestamptz, now() + $9::float8 * interval '1 second')) returning ${key.columns('signsFrom')}`
  }),
  /** The key $1 leaves at $2, and not before $3 seconds from now (null for any time). */
  succeed: statement('signing-key-succeed', (table) => {
    const { name, column } = table(SigningKey)
    return `update ${name} set ${column('retiresAt')} = greatest(${column('retiresAt')}, $2, now() + $3::float8 * interval '1 second')
      where ${column('kid')} = $1 and ${column('revokedAt')} is null`
  }),
  /** The key $1 at $2. It leaves by the database's clock, so that a version before this one knows it no more either. */
  revoke: statement<Pick<SigningKey, 'kid'>>('signing-key-revoke', (table) => {
    const { name, column, columns } = table(SigningKey)
    const [retiresAt, revokedAt] = [column('retiresAt'), column('revokedAt')]
    return `update ${name} set ${revokedAt} = $2, ${retiresAt} = least(${retiresAt}, now())
      where ${column('kid')} = $1 and ${revokedAt} is null returning ${columns('kid')}`
  }),
  /** The key $1 signs from $2 on, which is sooner. */
  forward: statement<Pick<SigningKey, 'kid'>>('signing-key-forward', (table) => {
    const { name, column, columns } = table(SigningKey)
    return `update ${name} set ${column('signsFrom')} = least(${column('signsFrom')}, $2)
      where ${column('kid')} = $1 and ${column('revokedAt')} is null returning ${columns('kid')}`
  }),
  /**
   * Those of the algorithm $1 that would begin to sign much later than $2 seconds from now, by the database's clock, do so then, in the
   * order in which they would have.
   */
  bringForward: statement<Pick<SigningKey, 'kid' | 'algorithm' | 'predecessor' | 'signsFrom'>>(
    'signing-keys-bring-forward',
    (table) => {
      const { name, column, columns } = table(SigningKey)
      const [kid, signsFrom] = [column('kid'), column('signsFrom')]
      const [then, far] = [
        "now() + $2::float8 * interval '1 second'",
        `now() + ($2::float8 + ${FAR_AHEAD}) * interval '1 second'`,
      ]
      const ofThese = `from ${name} where ${column('algorithm')} = $1 and ${column('revokedAt')} is null and ${signsFrom}`
      return `with far as (select ${kid} as id, row_number() over (order by ${signsFrom}) as place ${ofThese} > ${far})
      update ${name} set ${signsFrom} = greatest(${then}, (select max(${signsFrom}) ${ofThese} <= ${far}))
        + far.place * interval '1 millisecond'
      from far where ${kid} = far.id returning ${columns('kid', 'algorithm', 'predecessor', 'signsFrom')}`
    },
  ),
  /** The key $1, whose successor was brought forward, leaves at $2, which is sooner. */
  leaveSooner: statement('signing-key-leave-sooner', (table) => {
    const { name, column } = table(SigningKey)
    return `update ${name} set ${column('retiresAt')} = least(${column('retiresAt')}, $2)
      where ${column('kid')} = $1 and ${column('revokedAt')} is null`
  }),
  /** Locks the keys of the algorithm $1, oldest first. */
  lock: statement<Pick<SigningKey, 'kid'>>('signing-keys-lock', (table) => {
    const { name, column, columns } = table(SigningKey)
    return `select ${columns('kid')} from ${name} where ${column('algorithm')} = $1 order by ${column('signsFrom')} for update`
  }),
  reseal: statement('signing-key-reseal', (table) => {
    const key = table(SigningKey)
    return `update ${key.name} set ${key.column('privateJwk')} = $3
      where ${key.column('kid')} = $1 and ${key.column('privateJwk')} = $2`
  }),
  /** Those whose last token has been dead for a day. */
  dead: statement<Pick<SigningKeyRow, 'kid' | 'store' | 'reference'>>('signing-keys-dead', (table) => {
    const { name, column, columns } = table(SigningKey)
    return `select ${columns('kid', 'store', 'reference')} from ${name}
      where ${column('retiresAt')} < now() - interval '1 day'`
  }),
  /** The key $1, which is dead. */
  remove: statement('signing-key-remove', (table) => {
    const { name, column } = table(SigningKey)
    return `delete from ${name} where ${column('kid')} = $1 and ${column('retiresAt')} < now() - interval '1 day'`
  }),
}

export interface NewSigningKey {
  kid: string
  algorithm: string
  predecessor: string
  publicJwk: object
  privateJwk: string
  store: string
  reference: string
  signsFrom: Date
  /** Seconds from now, by the database's clock, before which it does not sign; null for any time. */
  signsAfter: number | null
}

/** Returns when it signs. A duplicate where the one it replaces has a successor. */
export async function insertSigningKey(query: Query, key: NewSigningKey): Promise<Date> {
  const { kid, algorithm, predecessor, publicJwk, privateJwk, store, reference, signsFrom, signsAfter } = key
  const [row] = await query(statements.insert, [
    kid,
    algorithm,
    predecessor,
    publicJwk,
    privateJwk,
    store,
    reference,
    signsFrom,
    signsAfter,
  ])
  return row!.signsFrom
}
