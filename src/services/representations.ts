/** Which forms a call wants its answer in, one over the other. Where nobody registered one, nothing is asked. */
import type { DoorRegistry } from '../doors/registry.ts'
import type { Representation, Represented, RepresentedCall } from '../doors/representation.ts'

export type Forms = readonly Representation[]

const NONE: Forms = []

/** Of this, once all have registered: those that apply to a call, in their order. */
export function formsOf(
  doors: Pick<DoorRegistry, 'all' | 'represents'>,
  of: Representation['of'],
): (call: RepresentedCall) => Forms {
  doors.represents(of)
  let known: Forms | undefined
  return (call) => {
    known ??= doors.all('representation').filter((one) => one.of === of)
    for (const one of known) if (one.applies(call)) return known.filter((other) => other.applies(call))
    return NONE
  }
}

export async function renderAs(
  forms: Forms,
  plain: Represented,
  call: RepresentedCall,
): Promise<Represented> {
  let made = plain
  for (const form of forms) {
    const { text, type } = await form.render(made, call)
    made = { body: plain.body, text, type }
  }
  return made
}
