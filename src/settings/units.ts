/** What several settings are measured in. */
import { Type } from '../protocol/schema.ts'

/** A time in seconds, ten years at most. */
export const Seconds = (fallback: number, minimum: number, description: string) =>
  Type.Integer({ default: fallback, minimum, maximum: 10 * 365 * 86_400, description, unit: 'seconds' })

/** KiB for argon2id with two passes and one lane: what OWASP asks for at least. */
export const LEAST_HASH_MEMORY = 19_456
