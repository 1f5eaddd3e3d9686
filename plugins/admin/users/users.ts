/** The administration of users: its pages together. */
import { createShownOnce } from '../../pages/shown-once.ts'
import type { OwnArea } from '../area.ts'
import { addUserActions } from './user-actions.ts'
import { addUserEnd } from './user-end.ts'
import { addUserList } from './user-list.ts'
import './user-models.ts'
import { addNewUser } from './user-new.ts'
import { addUserPage } from './user-page.ts'
import { addPasswordLinks } from './user-password.ts'

export const USER_TEMPLATES = ['admin-users', 'admin-user', 'admin-user-new', 'admin-user-link'] as const

export function addUsers(area: OwnArea): void {
  addUserList(area)
  addNewUser(area, addPasswordLinks(area, createShownOnce(area.kernel, 'admin-password-link')))
  addUserPage(area)
  addUserActions(area)
  addUserEnd(area)
}
