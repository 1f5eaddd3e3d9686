// Owns the judgement of one answer: the status, and the members that it must have.

import type { Expectation } from './load-protocol.ts'

export type Judgement =
  | { answer: Record<string, unknown>; error?: undefined }
  | { answer?: undefined; error: string }

export function judge(head: string, body: string, expectation: Expectation): Judgement {
  if (!head.startsWith('HTTP/1.1 200 ')) return { error: `${head.slice(9, 12)} ${body.slice(0, 300)}` }
  const answer = parse(body)
  const missing = answer && firstMissing(answer, expectation)
  if (!answer || missing !== undefined) return { error: `200 without ${missing}: ${body.slice(0, 300)}` }
  return { answer }
}

function firstMissing(
  answer: Record<string, unknown>,
  { tokens = [], lists = [], values = {} }: Expectation,
): string | undefined {
  for (const name of tokens) {
    const token = answer[name]
    if (typeof token !== 'string' || token.length < 20) return name
  }
  for (const name of lists) {
    const list = answer[name]
    if (!Array.isArray(list) || list.length === 0) return name
  }
  for (const name in values) if (answer[name] !== values[name]) return `${name}=${String(values[name])}`
  return undefined
}

function parse(body: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(body) as Record<string, unknown>
  } catch {
    return undefined
  }
}
