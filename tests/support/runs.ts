/**
 * How many made-up inputs a property is tried with. `npm run test:thorough` (TEST_RUNS) tries so many times as many: what
 * a run of all tests tries is enough for the faults that were planted to see the test fail.
 */
const TIMES = Number(process.env['TEST_RUNS'] ?? 1)

/** `count` for each run of the tests. */
export function runs(count: number): number {
  return Math.ceil(count * TIMES)
}
