/** A limit for what others do: they are told to give up, and who does not is not waited for. */

/** What `work` gives within so many milliseconds. Throws `TimeoutError` after them, whatever comes of it. */
export async function within<T>(limit: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const error = new DOMException(`there was no answer within ${limit / 1000} seconds`, 'TimeoutError')
      reject(error)
      controller.abort(error)
    }, limit)
  })
  try {
    return await Promise.race([work(controller.signal), late])
  } finally {
    clearTimeout(timer)
  }
}
