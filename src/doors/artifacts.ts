/** Where a plugin keeps what it must remember. */
import type { Bag } from '../protocol/bag.ts'

/** Stored things of a plugin's own, as JSON: hashed at rest, gone when they expire, replaced by compare-and-set. */
export interface Artifacts<Value extends object = Bag> {
  /**
   * Stores `value` under `handle`, or under 256 random bits; returns the handle. Throws when it is taken. Of those of
   * one `owner`, in the words of whoever stores them, the oldest give way to the newest `most`.
   */
  put(value: Value, handle?: string, bound?: { owner: string; most: number }): Promise<string>
  /** Null when it is not there, has expired or was spent. */
  get(handle: string): Promise<Value | null>
  /** False when `from` is no longer what is stored. */
  replace(handle: string, from: Value, to: Value): Promise<boolean>
}
