import { t } from '../text'

/** Which of several things held, over time. Without the picture, screen readers have the list below it. */
export function Spans({ label, spans }: { label: string; spans: { from: number; to: number; label: string }[] }) {
  const first = spans[0]?.from ?? 0
  const all = (spans.at(-1)?.to ?? 0) - first
  if (all <= 0) return null
  const seen = [...new Set(spans.map((s) => s.label))]
  return (
    <figure className="m-0 mb-6">
      <svg role="img" aria-label={label} width="100%" height="28" className="block overflow-hidden rounded-md border border-line rtl:-scale-x-100">
        {spans.map((s) => {
          const width = ((s.to - s.from) / all) * 100
          return (
            <svg key={s.from} x={`${((s.from - first) / all) * 100}%`} width={`${width}%`} height="28">
              <title>{s.label}: {new Date(s.from).toLocaleString()} – {new Date(s.to).toLocaleString()}</title>
              <rect width="100%" height="28" className={seen.indexOf(s.label) % 2 ? 'fill-hover' : 'fill-markbg'} />
              <line y2="28" className="stroke-line" />
              {width > 6 && <text x="6" y="18" className="origin-center fill-ink text-xs [direction:ltr] [transform-box:fill-box] rtl:-scale-x-100">{s.label}</text>}
            </svg>
          )
        })}
      </svg>
      <figcaption className="mt-1 flex justify-between text-xs text-soft">
        <time dateTime={new Date(first).toISOString()}>{new Date(first).toLocaleDateString()}</time><span>{t.now}</span>
      </figcaption>
    </figure>
  )
}

/** Amounts, one bar each. What a bar is, its title says. */
export function Bars({ label, bars }: { label: string; bars: { key: string; value: number; title: string; bad?: boolean }[] }) {
  const most = Math.max(...bars.map((b) => b.value), 1)
  const step = 100 / Math.max(bars.length, 30)
  return (
    <svg role="img" aria-label={label} width="100%" height="72" className="mb-3 block rtl:-scale-x-100">
      {bars.map((b, i) => {
        const height = Math.max((b.value / most) * 68, 2)
        return (
          <rect
            key={b.key} x={`${i * step}%`} y={70 - height} width={`${step * 0.8}%`} height={height} rx="2"
            className={b.value === 0 ? 'fill-line' : b.bad ? 'fill-bad' : 'fill-act'}
          >
            <title>{b.title}</title>
          </rect>
        )
      })}
      <line x2="100%" y1="71" y2="71" className="stroke-line" />
    </svg>
  )
}

/**
 * Amounts over time in the height of a line, oldest at the start of the line. Each bar says its amount when it is pointed
 * at; screen readers have the sum and the largest one.
 */
export function Sparkline({ label, bars }: { label: string; bars: { key: string; value: number; title: string }[] }) {
  const most = Math.max(...bars.map((b) => b.value), 1)
  return (
    <svg role="img" aria-label={label} width={bars.length * 4} height="20" className="block rtl:-scale-x-100">
      {bars.map((b, i) => {
        const height = b.value === 0 ? 1 : Math.max((b.value / most) * 19, 2)
        return (
          <g key={b.key}>
            <title>{b.title}</title>
            <rect x={i * 4} width="4" height="20" className="fill-transparent" />
            <rect x={i * 4} y={20 - height} width="3" height={height} className={b.value === 0 ? 'fill-line' : 'fill-act'} />
          </g>
        )
      })}
    </svg>
  )
}

const health = { ok: 'fill-ok', failed: 'fill-bad', warning: 'fill-warn' } as Record<string, string>

/** The steps of a check, one mark each. */
export function Steps({ label, steps }: { label: string; steps: { step: string; result: string; ms: number }[] }) {
  return (
    <svg role="img" aria-label={label} width={steps.length * 18} height="14" className="block rtl:-scale-x-100">
      {steps.map((s, i) => (
        <rect key={s.step} x={i * 18} width="14" height="14" rx="3" className={health[s.result] ?? 'fill-line'}>
          <title>{s.step}: {s.result}{s.result === 'skipped' ? '' : t.msMsMs(s.ms)}</title>
        </rect>
      ))}
    </svg>
  )
}
