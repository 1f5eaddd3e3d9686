/** What pages are given that may come from a replica (`src/services/listings.ts`). */

export interface Shown {
  /** When it was so, where that is not now: an instant, and how long ago that is. */
  behind: Behind | null
}

export interface Behind {
  time: Date
  seconds: number
}
