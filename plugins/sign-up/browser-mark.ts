/** By what the browser is known again in which an account was asked for. */
import type { FastifyInstance } from 'fastify'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'

export interface BrowserMarks {
  /** To be stored: nobody gets the cookie out of it. */
  markOf(call: BrowserCall): string
  isThis(call: BrowserCall, mark: string): boolean
}

export function createBrowserMarks(fastify: FastifyInstance): BrowserMarks {
  const { box } = kernelOf(fastify)
  const textOf = (call: BrowserCall): string => `browser of a sign-up\0${fastify.browser.id(call)}`
  return {
    markOf: (call) => box.hash(textOf(call)),
    isThis: (call, mark) => box.matches(textOf(call), mark),
  }
}
