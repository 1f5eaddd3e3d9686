/** Files that pages load: stylesheet, scripts and mark, from memory, under names that change with their content. */
import type { FastifyInstance } from 'fastify'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { ConfigError } from '../../src/config.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'

const FILES = [
  'style.css',
  'area.css',
  'consent.css',
  'mark.svg',
  'submit.js',
  'password.js',
  'wait.js',
  'once.js',
  'copy.js',
  'go-on.js',
  'times.js',
] as const
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.avif': 'image/avif',
  '.woff2': 'font/woff2',
}

const SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

export interface Assets {
  /** Where each file is, by its name. */
  readonly addresses: Readonly<Record<string, string>>
  /** Returns its address. Throws `ConfigError` for a name that is taken, or a file that pages do not load. */
  add(name: string, file: URL): Promise<string>
  /** What stands in no file of ours; returns its address. */
  addContent(name: string, content: Buffer): string
}

/** Of a file whose address changes with its content. */
export function assetHeaders(extension: string): Record<string, string> {
  return {
    'content-type': TYPES[extension]!,
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    // A picture that is opened by itself runs nothing in our origin.
    ...(extension === '.svg' ? { 'content-security-policy': SVG_POLICY } : {}),
  }
}

/** Serves files at `<prefix>/assets/<name>.<hash>.<ext>`: ours of `directory`, and those that plugins add. */
export async function createAssets(
  fastify: FastifyInstance,
  prefix: string,
  directory: URL,
): Promise<Assets> {
  const { doors } = kernelOf(fastify)
  const addresses: Record<string, string> = {}

  function addContent(name: string, content: Buffer): string {
    const extension = extname(name)
    if (!/^[a-z][a-z0-9-]*\.[a-z0-9]+$/.test(name) || TYPES[extension] === undefined)
      throw new ConfigError(
        `The asset ${name} needs a name of small letters, digits and hyphens, and .css, .js, .svg, .png, .webp or .jpg.`,
      )
    if (Object.hasOwn(addresses, name)) throw new ConfigError(`The asset ${name} is registered twice.`)
    const hash = createHash('sha256').update(content).digest('hex').slice(0, 12)
    const url = `${prefix}/assets/${name.slice(0, -extension.length)}.${hash}${extension}`
    fastify.get(url, async (_request, reply) => reply.headers(assetHeaders(extension)).send(content))
    addresses[name] = url
    return url
  }

  async function add(name: string, file: URL): Promise<string> {
    doors.assertOpen(`The asset ${name}`)
    return addContent(name, await readFile(file))
  }

  for (const file of FILES) await add(file, new URL(file, directory))
  return { addresses, add, addContent }
}
