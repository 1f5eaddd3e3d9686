/** Forms that are being taken in this process, by their interaction: of two at once, who is refused waits for the other. */
export interface UnderWay {
  take<T>(id: string, work: () => Promise<T>): Promise<T>
  /** Until those that are being taken now are done, however they end. */
  settled(id: string): Promise<void>
}

export function createUnderWay(): UnderWay {
  const byId = new Map<string, Set<Promise<unknown>>>()

  return {
    async take(id, work) {
      const all = byId.get(id) ?? new Set()
      byId.set(id, all)
      const one = work()
      all.add(one)
      try {
        return await one
      } finally {
        all.delete(one)
        if (all.size === 0) byId.delete(id)
      }
    },
    async settled(id) {
      const all: readonly Promise<unknown>[] = [...(byId.get(id) ?? [])]
      await Promise.allSettled(all)
    },
  }
}
