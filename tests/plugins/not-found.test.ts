/** What is not there: one answer and one line in the log, for browsers and for programs. */
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'

const server = await startServer()

test.each(['text/html', 'application/json'])('is told once in the log, to who accepts %s', async (accept) => {
  const path = `/nowhere-${accept.length}`
  const response = await server.get(path, { accept })
  expect(response.status).toBe(404)
  const id = response.headers.get('x-request-id')
  const lines = server
    .output()
    .split('\n')
    .filter((line) => line.includes(`"${id}"`) && line.includes('request refused'))
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0]!)).toMatchObject({ method: 'GET', path, status: 404 })
})
