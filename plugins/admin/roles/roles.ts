/** The administration of roles: its pages together. */
import type { OwnArea } from '../area.ts'
import { addRoleActions } from './role-actions.ts'
import { addRoleList } from './role-list.ts'
import './role-models.ts'
import { addNewRole } from './role-new.ts'
import { addRolePage } from './role-page.ts'

export const ROLE_TEMPLATES = ['admin-roles', 'admin-role'] as const

export function addRoles(area: OwnArea): void {
  addRoleList(area)
  addNewRole(area)
  addRolePage(area)
  addRoleActions(area)
}
