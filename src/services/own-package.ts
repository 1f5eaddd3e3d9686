/**
 * Plugins import `latchkey` by its name. Where it is not installed beside them (a file of an operator's, a server that
 * was installed globally, this checkout), they get the server that loads them.
 */
import { registerHooks } from 'node:module'
import { extname } from 'node:path'

const NAME = 'latchkey'
let offered = false

/** From here on; what a plugin has installed itself goes first. */
export function offerOwnPackage(): void {
  if (offered) return
  offered = true
  // The compiled server's modules end in .js.
  const own = new URL(`../index${extname(import.meta.filename)}`, import.meta.url).href
  registerHooks({
    resolve(specifier, context, nextResolve) {
      try {
        return nextResolve(specifier, context)
      } catch (error) {
        if (specifier !== NAME) throw error
        return { url: own, shortCircuit: true }
      }
    },
  })
}
