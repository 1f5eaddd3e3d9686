/** The registered steps in the order in which people meet them. */
import type { InteractionStep } from '../../src/doors/interaction.ts'
import type { DoorRegistry } from '../../src/doors/registry.ts'

/** The step that asks who somebody is. */
export const LOGIN = 'login'

export interface Phases {
  readonly authenticate: readonly InteractionStep[]
  readonly approve: readonly InteractionStep[]
  /** Whether it comes once it is known who is there. */
  isLate(step: InteractionStep): boolean
  find(name: string): InteractionStep | undefined
  /** Those that may have something on the page of the step of this name. */
  beside(name: string): readonly InteractionStep[]
  /** Of the name of a form: `step`, or `step.part`. */
  partsOf(form: string): readonly [step: string, part?: string]
}

/** Not before the server is ready: what it gives is made once. */
export function createPhases(doors: DoorRegistry): () => Phases {
  let phases: Phases | undefined
  return () => (phases ??= phasesOf(doors.all('interactionStep')))
}

function phasesOf(steps: readonly InteractionStep[]): Phases {
  const isFirst = ({ phase }: InteractionStep): boolean => phase === 'authenticate'
  const isLast = ({ lastResort = false }: InteractionStep): boolean => lastResort
  const ordered = [...steps.filter((step) => !isLast(step)), ...steps.filter(isLast)]
  return {
    authenticate: ordered.filter(isFirst),
    approve: ordered.filter((step) => !isFirst(step)),
    isLate: (step) => !isFirst(step),
    find: (name) => steps.find((step) => step.name === name),
    beside(name) {
      const phase = steps.find((step) => step.name === name)?.phase
      return steps.filter((step) => step.instead !== undefined && step.phase === phase && step.name !== name)
    },
    partsOf(form) {
      const dot = form.indexOf('.')
      // A step's own name may have one.
      if (dot < 0 || steps.some(({ name }) => name === form)) return [form]
      return [form.slice(0, dot), form.slice(dot + 1)]
    },
  }
}
