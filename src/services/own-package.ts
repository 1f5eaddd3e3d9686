/**
 * Plugins import `latchkey`, and its guard for APIs, by their names. Where it is not installed beside them (a file of an operator's, a server that
 * was installed globally, this checkout), they get the server that loads them.
 */
import { registerHooks } from 'node:module'
import { extname } from 'node:path'

/** Where each is, without what it ends in. */
const OWN: ReadonlyMap<string, string> = new Map([
  ['latchkey', '../index'],
  ['@latchkey/require-scope', '../../plugins/require-scope/index'],
])
let offered = false

/** From here on; what a plugin has installed itself goes first. */
export function offerOwnPackage(): void {
  if (offered) return
  offered = true
  // The compiled server's modules end in .js.
  const ending = extname(import.meta.filename)
  registerHooks({
    resolve(specifier, context, nextResolve) {
      try {
        return nextResolve(specifier, context)
      } catch (error) {
        const own = OWN.get(specifier)
        if (own === undefined) throw error
        return { url: new URL(own + ending, import.meta.url).href, shortCircuit: true }
      }
    },
  })
}
