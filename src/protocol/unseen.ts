/** What stands in a text and is not seen: names of it could be anybody's, and links of it nobody finds. */

/** What takes no room on the screen: also formats (`Cf`) that browsers do not draw, or draw at another place. */
const HIDDEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]/u
/** What leaves nothing to see, nor to click on, where it is all that there is. */
const UNSEEN = /^[\s\p{Z}\p{Cc}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]*$/u

/** Whether it holds something that nobody sees; spaces and control characters do not count. */
export function isHiding(text: string): boolean {
  return HIDDEN.test(text)
}

/** Whether there is nothing to see. */
export function isUnseen(text: string): boolean {
  return UNSEEN.test(text)
}
