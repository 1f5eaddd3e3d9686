/** Runs in front of every test file. */
import { afterAll } from 'vitest'
import { clearAway } from './cleanup.ts'

afterAll(clearAway, 30_000)
