// Owns a plot of lines as an SVG file: axes with units, each line named at its end, in colours that are read on white
// and on black.

export interface Line {
  name: string
  points: readonly (readonly [x: number, y: number])[]
}

export interface Plot {
  title: string
  /** With their units. */
  x: string
  y: string
  lines: readonly Line[]
}

const size = { width: 760, height: 340 }
const margin = { top: 44, right: 110, bottom: 46, left: 58 }
const inner = {
  width: size.width - margin.left - margin.right,
  height: size.height - margin.top - margin.bottom,
}

const style = `
  text { font: 12px system-ui, sans-serif; fill: #57606a }
  .title { font-size: 14px; fill: #24292f }
  .grid { stroke: #8c959f; stroke-opacity: 0.35 }
  .line { fill: none; stroke-width: 1.75; stroke-linejoin: round }
  .l0 { stroke: #0969da } .l1 { stroke: #bc4c00 } .l2 { stroke: #6e7781 } .l3 { stroke: #8250df }
  @media (prefers-color-scheme: dark) {
    text { fill: #9ea7b3 } .title { fill: #e6edf3 }
    .l0 { stroke: #58a6ff } .l1 { stroke: #f0883e } .l2 { stroke: #8b949e } .l3 { stroke: #bc8cff }
  }`

export function plot({ title, x, y, lines }: Plot): string {
  const all = lines.flatMap(({ points }) => points)
  const xs = ticks(Math.max(...all.map((point) => point[0])))
  const ys = ticks(Math.max(...all.map((point) => point[1])))
  const left = (value: number) => margin.left + (value / xs.at(-1)!) * inner.width
  const top = (value: number) => margin.top + (1 - value / ys.at(-1)!) * inner.height
  const [right, bottom] = [margin.left + inner.width, margin.top + inner.height]

  const text = (at: readonly [number, number], anchor: string, what: string, kind = '') =>
    `<text x="${at[0].toFixed(1)}" y="${at[1].toFixed(1)}" text-anchor="${anchor}"${kind}>${escape(what)}</text>`
  const horizontal = ys.flatMap((value) => [
    `<path class="grid" d="M${margin.left} ${top(value).toFixed(1)}H${right}"/>`,
    text([margin.left - 8, top(value) + 4], 'end', String(value)),
  ])
  const vertical = xs.map((value) => text([left(value), bottom + 18], 'middle', String(value)))
  const drawn = lines.flatMap(({ name, points }, index) => {
    const path = points.map((point) => `${left(point[0]).toFixed(1)} ${top(point[1]).toFixed(1)}`).join('L')
    const last = points.at(-1)?.[1] ?? 0
    return [`<path class="line l${index}" d="M${path}"/>`, text([right + 8, top(last) + 4], 'start', name)]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" role="img">`,
    `<title>${escape(title)}</title>`,
    `<style>${style}\n</style>`,
    text([margin.left, 24], 'start', title, ' class="title"'),
    ...horizontal,
    ...vertical,
    ...drawn,
    text([margin.left - 8, margin.top - 10], 'end', y),
    text([right, bottom + 36], 'end', x),
    '</svg>',
    '',
  ].join('\n')
}

/** From 0 to `most` or a little more, in round steps. */
function ticks(most: number): number[] {
  const raw = Math.max(most, Number.MIN_VALUE) / 6
  const power = 10 ** Math.floor(Math.log10(raw))
  const step = power * [1, 2, 2.5, 5, 10].find((one) => one * power >= raw)!
  const count = Math.ceil(most / step - 1e-9)
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)))
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
