/** What the parameters of a request ask people for, beside scopes and resources: line by line, each known by its key. */
import type { ApprovalRequest, ConsentLine, Parameter } from '../../doors/approval.ts'

/** `key` tells it from those of all parameters. */
export type AskedLine = Required<ConsentLine>

/** Those that no scope of the request gives already. Throws where a parameter does not say them as `{ key, text }`. */
export function linesOf(
  parameters: readonly Parameter[],
  request: Pick<ApprovalRequest, 'parameters' | 'scopes'>,
): AskedLine[] {
  const asked: AskedLine[] = []
  for (const { name, consent } of parameters) {
    const value = request.parameters[name]
    if (value === undefined || consent === undefined) continue
    for (const { key, text, scopes = [], once = false } of consent(value)) {
      // Without one, whatever came later would count as allowed.
      if (typeof key !== 'string') throw new Error(`the parameter ${name} has a consent line without a key`)
      if (!scopes.some((scope) => request.scopes.has(scope)))
        asked.push({ key: `${name}:${key}`, text, scopes, once })
    }
  }
  return asked
}
