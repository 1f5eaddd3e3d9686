/**
 * The services behind the doors, for our own plugins and commands alone: `fastify.oauth` is what everybody gets. Kept under a
 * symbol that this file does not give away.
 */
import type { FastifyInstance } from 'fastify'
import type { Kernel } from '../services/kernel.ts'

const KERNEL = Symbol('latchkey: kernel')

declare module 'fastify' {
  interface FastifyInstance {
    [KERNEL]: Kernel
  }
}

/** From here on `kernelOf` gives it for this instance and for all below. */
export function decorateKernel(fastify: FastifyInstance, kernel: Kernel): void {
  fastify.decorate(KERNEL, kernel)
}

export function kernelOf(fastify: FastifyInstance): Kernel {
  return fastify[KERNEL]
}
