import type { PromptFeedback } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { atrium } from '../api'
import { useWorkspace } from '../app/workspace'
import { words } from '../text/prompts'

/** What applications reported about the versions of a prompt, compared with base, or else with the active version. */
export function useFeedback(id: string, base?: string) {
  const workspace = useWorkspace()
  return useQuery({
    queryKey: ['feedback', id, base],
    queryFn: () => atrium.promptTemplates.feedback.list(id, base ? { base } : {}, { workspace }),
  })
}

const percent = (share: number) => `${(share * 100).toFixed(1)} %`

/** The mean, the share of true, or the shares of each value. */
export function figure(f: PromptFeedback) {
  if (f.mean !== null) return f.mean.toFixed(2)
  if (f.share !== null) return percent(f.share)
  return f.distribution.map((d) => `${d.value} ${percent(d.share)}`).join(', ')
}

/** The differences from the base version, with their intervals. */
export function compared(f: PromptFeedback) {
  return f.differences.map((d) => {
    const text = (x: number) => (x > 0 ? '+' : '') + (f.kind === 'number' ? x.toFixed(2) : (x * 100).toFixed(1))
    const difference = f.kind === 'number' ? text(d.difference) : words.points(text(d.difference))
    const interval = words.differenceFromTo(difference, text(d.low), text(d.high))
    return f.kind === 'choice' ? `${d.value}: ${interval}` : interval
  }).join(', ')
}

/** What was reported about one version, by name. */
export function FeedbackOf({ lines, version }: { lines: PromptFeedback[]; version: string }) {
  const own = lines.filter((l) => l.version_id === version)
  if (own.length === 0) return null
  return (
    <ul className="m-0 list-none p-0 text-soft">
      {own.map((f) => (
        <li key={f.name}>
          {f.name}: <b>{figure(f)}</b> {words.ofReports(f.count.toLocaleString())}
          {f.differences.length > 0 && <> · {compared(f)}</>}
        </li>
      ))}
    </ul>
  )
}
