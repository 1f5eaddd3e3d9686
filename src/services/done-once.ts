/**
 * What a form has just done that does it once, and in which browser: noted by the transaction that does it, so that a form that is sent twice, also
 * where the first answer was lost, is answered as the first one was.
 */
import type { EntityManager } from '@mikro-orm/postgresql'
import { Artifact } from '../entities/artifact.ts'
import { statements } from '../store/artifacts.ts'
import type { Query } from '../store/statement.ts'
import type { ArtifactStore } from './artifact-store.ts'
import type { SecretBox } from './keys/secret-box.ts'

/** What tells the form from others, such as the token of a link, and what the browser is known by, or the session. */
export interface SentForm {
  readonly form: string
  readonly browser: string
}

export interface DoneOnce<Value extends object> {
  /** In the transaction of `query`, which does it. False where it was noted within its lifetime, or is at this moment: then it is not to be done. */
  note(query: Query, sent: SentForm, value: Value): Promise<boolean>
  /** The same of what cannot be done twice, and again once it is undone: takes the place of the former note. */
  noteAnew(query: Query, sent: SentForm, value: Value): Promise<void>
  /** The same by an entity manager. */
  noteBy(em: EntityManager, sent: SentForm, value: Value): Promise<void>
  /** Null where this browser has not done it within its lifetime. */
  find(sent: SentForm): Promise<Value | null>
}

/** Seconds. */
const LIFETIME = 60

/** A form of one `kind` is none of another. `lifetime` is in seconds: where what was made is shown once, as long as that can be. */
export function createDoneOnce<Value extends object>(
  { artifacts, box }: Pick<ArtifactStore, 'artifacts'> & { box: Pick<SecretBox, 'hash'> },
  kind: string,
  lifetime = LIFETIME,
): DoneOnce<Value> {
  const kept = artifacts<Value>(kind, { lifetime })
  const handleOf = ({ form, browser }: SentForm): string => `${browser} ${form}`
  return {
    async note(query, sent, value) {
      return (await query(statements.put, [box.hash(handleOf(sent)), kind, value, lifetime])).length > 0
    },
    async noteAnew(query, sent, value) {
      const hash = box.hash(handleOf(sent))
      await query(statements.delete, [kind, [hash]])
      await query(statements.put, [hash, kind, value, lifetime])
    },
    async noteBy(em, sent, value) {
      const expiresAt = new Date(Date.now() + lifetime * 1000)
      // In the place of one that is dead.
      await em.upsert(Artifact, { kind, hash: box.hash(handleOf(sent)), value: { ...value }, expiresAt })
    },
    find: async (sent) => kept.get(handleOf(sent)),
  }
}
