/** The MCP server: notes of each person, and two tools with a scope each. It knows nothing of tokens but whose call it is. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'

/** What each tool needs, all of it. */
export const SCOPES_OF_TOOLS: Readonly<Record<string, readonly string[]>> = {
  list_notes: ['notes:read'],
  add_note: ['notes:read', 'notes:write'],
}

const notes = new Map<string, string[]>()
/** Of each person. */
const MOST = 100

/** A server for one request of this person. */
export function createNotesServer(subject: string): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' })
  const own = notes.get(subject) ?? []
  const answer = (text: string) => ({ content: [{ type: 'text' as const, text }] })

  server.registerTool('list_notes', { description: 'Your notes' }, async () => answer(own.join('\n')))
  server.registerTool(
    'add_note',
    { description: 'Adds a note', inputSchema: { text: z.string().min(1).max(1000) } },
    async ({ text }) => {
      notes.set(subject, [...own, text].slice(-MOST))
      return answer('Added.')
    },
  )
  return server
}
