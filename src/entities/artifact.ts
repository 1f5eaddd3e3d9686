/** Single-use and polled things that plugins store: a voucher, a device code. */
import { defineEntity, p } from './define.ts'

const ArtifactSchema = defineEntity({
  name: 'Artifact',
  tableName: 'artifacts',
  properties: {
    kind: p.text().primary(),
    /** Keyed hash of the handle: a handle may be short enough to guess from a plain hash. */
    hash: p.text().primary(),
    value: p.json<Record<string, unknown>>(),
    /** Grows with each replacement, for compare-and-set. */
    revision: p.integer().default(0),
    expiresAt: p.datetime().index(),
    spentAt: p.datetime().nullable(),
    /** Of whom there may be only so many, where that is bounded. */
    owner: p.text().nullable(),
  },
  indexes: [{ properties: ['owner', 'kind', 'expiresAt'], where: '"owner" is not null' }],
})

export class Artifact extends ArtifactSchema.class {}
ArtifactSchema.setClass(Artifact)
