/** Files that pages load: stylesheet, scripts and mark, from memory, under names that change with their content. */
import type { FastifyInstance } from 'fastify'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'

const FILES = [
  'style.css',
  'area.css',
  'mark.svg',
  'submit.js',
  'password.js',
  'wait.js',
  'once.js',
  'copy.js',
] as const
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Serves `directory` at `<prefix>/assets/<name>.<hash>.<ext>`; returns those addresses by the files' names. */
export async function serveAssets(
  fastify: FastifyInstance,
  prefix: string,
  directory: URL,
): Promise<Readonly<Record<string, string>>> {
  const addresses: Record<string, string> = {}
  for (const file of FILES) {
    const content = await readFile(new URL(file, directory))
    const hash = createHash('sha256').update(content).digest('hex').slice(0, 12)
    const extension = extname(file)
    const url = `${prefix}/assets/${file.slice(0, -extension.length)}.${hash}${extension}`
    fastify.get(url, async (_request, reply) =>
      reply
        .headers({
          'content-type': TYPES[extension],
          'cache-control': 'public, max-age=31536000, immutable',
          'x-content-type-options': 'nosniff',
          'cross-origin-resource-policy': 'same-origin',
        })
        .send(content),
    )
    addresses[file] = url
  }
  return addresses
}
