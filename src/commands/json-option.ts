/** `--json`, which every command has that answers: one JSON value on stdout, and nothing else there. */
import type { Command } from 'commander'

export function withJson(command: Command): Command {
  return command.option('--json', 'one JSON value on stdout')
}
