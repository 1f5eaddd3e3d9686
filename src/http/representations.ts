/** Brings what an endpoint answers into the forms that its caller wants. */
import { answer, isAnswer, type Answer } from '../doors/answer.ts'
import type { RepresentedCall } from '../doors/representation.ts'
import type { Bag } from '../protocol/bag.ts'
import { renderAs, type Forms } from '../services/representations.ts'

export async function represent(
  result: Bag | Answer,
  forms: Forms,
  call: RepresentedCall,
): Promise<Bag | Answer> {
  const { status, headers, text, type, body } = isAnswer(result) ? result : answer({ body: result })
  if (body === undefined || text === undefined || status >= 300) return result
  const made = await renderAs(forms, { body, text, type }, call)
  return answer({ status, headers, body: made.text, type: made.type })
}
