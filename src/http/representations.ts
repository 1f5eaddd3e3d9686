/** Brings what an endpoint answers into the forms that its caller wants. Where nobody registered one, nothing is asked. */
import { answer, isAnswer, type Answer } from '../doors/endpoint.ts'
import type { DoorRegistry } from '../doors/registry.ts'
import type { Representation, Represented, RepresentedCall } from '../doors/representation.ts'
import type { Bag } from '../protocol/bag.ts'

type Forms = readonly Representation[]

const NONE: Forms = []

/** For the endpoint at `path`, once all have registered: those that a call is answered by, in their order. */
export function representationsOf(
  doors: Pick<DoorRegistry, 'all'>,
  path: string,
): (call: RepresentedCall) => Forms {
  let ofPath: Forms | undefined
  return (call) => {
    ofPath ??= doors.all('representation').filter((one) => one.path === path)
    if (ofPath.length === 0) return NONE
    const applies = (one: Representation): boolean => one.applies(call)
    return ofPath.some(applies) ? ofPath.filter(applies) : NONE
  }
}

export async function represent(
  result: Bag | Answer,
  forms: Forms,
  call: RepresentedCall,
): Promise<Bag | Answer> {
  const { status, headers, text, type, body } = isAnswer(result) ? result : answer({ body: result })
  if (body === undefined || text === undefined || status >= 300) return result
  let made: Represented = { body, text, type }
  for (const form of forms) {
    const rendered = await form.render(made, call)
    made = { body, text: rendered.text, type: rendered.type }
  }
  return answer({ status, headers, body: made.text, type: made.type })
}
