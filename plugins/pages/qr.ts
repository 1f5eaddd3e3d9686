/** Texts as QR codes, for pages and pictures of ours. */

/** Dark squares as one path, in a square of `size`. */
export interface Picture {
  path: string
  size: number
}

/** Squares around it (ISO/IEC 18004 §6.3.8). */
const QUIET = 4

export async function pictureOf(text: string): Promise<Picture> {
  const { default: encode } = await import('qr')
  const rows = encode(text, 'raw', { ecc: 'medium', border: QUIET })
  const squares = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return { path: squares.join(''), size: rows.length }
}
