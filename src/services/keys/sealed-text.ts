/** Texts that travel in an address, sealed under SECRET_KEY: compressed, they are about as long as they were, since sealing makes four characters of three bytes. */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { SecretBox } from './secret-box.ts'

/** For this context alone. */
export function sealText(box: SecretBox, text: string, context: string): string {
  return box.seal(deflateRawSync(text), context)
}

/** Throws for what we did not seal for this context, or not under a key that we still have, and for more than `most` bytes. */
export function openText(box: SecretBox, sealed: string, context: string, most: number): string {
  return inflateRawSync(box.openBytes(sealed, context), { maxOutputLength: most }).toString()
}
