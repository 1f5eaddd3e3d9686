/** A role as programs and the command line have it. */
import type { CountedRole } from './role-lists.ts'

export function roleToWire({ name, members, displayName, directories, isChanging }: CountedRole) {
  return {
    name,
    members,
    ...(displayName === name ? {} : { display_name: displayName }),
    directories,
    ...(isChanging ? { changing: true } : {}),
  }
}
