// Owns the main process's end of the load generator: starts bench/load.ts on the other core, hands it requests
// and gets a window's figures back. It takes one order at a time.

import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Measured, Prepare, Prepared, Run } from './load-protocol.ts'
import { launchNode, otherCore } from './pinning.ts'

export class Generator {
  readonly #child: ChildProcess

  constructor() {
    const script = fileURLToPath(new URL('load.ts', import.meta.url))
    this.#child = launchNode({
      cores: otherCore,
      args: [script],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
  }

  get pid(): number {
    return this.#child.pid!
  }

  async prepare(requests: Omit<Prepare, 'type'>): Promise<void> {
    await this.#order({ type: 'prepare', ...requests }, 60)
  }

  async run(window: Omit<Run, 'type'>): Promise<Measured> {
    const answer = await this.#order({ type: 'run', ...window }, window.warmUp + window.seconds + 20)
    if (answer.type !== 'measured') throw new Error(`the load generator answered ${answer.type}`)
    return answer
  }

  #order(order: Prepare | Run, seconds: number): Promise<Prepared | Measured> {
    const { promise, resolve, reject } = Promise.withResolvers<Prepared | Measured>()
    const late = setTimeout(
      () => reject(new Error(`no answer to ${order.type} ${order.name}`)),
      seconds * 1000,
    )
    const ended = () => reject(new Error('the load generator ended'))
    this.#child.once('message', resolve)
    this.#child.once('exit', ended)
    this.#child.send(order)
    return promise.finally(() => {
      clearTimeout(late)
      this.#child.off('message', resolve)
      this.#child.off('exit', ended)
    })
  }
}
