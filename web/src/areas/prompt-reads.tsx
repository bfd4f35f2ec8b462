import { useQuery } from '@tanstack/react-query'
import { atrium } from '../api'
import { useWorkspace } from '../app/workspace'
import { Problem } from '../ui/basics'
import { Bars } from '../ui/pictures'
import { words } from '../text/prompts'
import { FeedbackOf, useFeedback } from './prompt-feedback'

const days = 30

/** How often applications read the versions of a prompt, by day, and what they reported about them. */
export function Reads({ id }: { id: string }) {
  const workspace = useWorkspace()
  const reads = useQuery({ queryKey: ['reads', id], queryFn: () => atrium.promptTemplates.reads.list(id, { days }, { workspace }) })
  const feedback = useFeedback(id)
  if (!reads.data || !feedback.data) return <Problem error={reads.error ?? feedback.error} />
  const lines = reads.data.data, judged = feedback.data.versions
  if (lines.length === 0 && judged.length === 0) return <p className="text-soft">{words.noApplicationHasRead(days)}</p>
  const ids = new Map([...judged, ...lines].map((l) => [l.version_number, l.version_id]))
  const versions = [...ids.keys()].sort((a, b) => b - a)
  const dates = Array.from({ length: days }, (_, i) => new Date(Date.now() - (days - 1 - i) * 86_400_000).toISOString().slice(0, 10))
  const sum = (of: (l: typeof lines[number]) => boolean) => lines.filter(of).reduce((n, l) => n + l.reads, 0)
  return (
    <>
      <h2 className="text-base font-semibold">{words.readsOfTheLast(days)}</h2>
      {versions.map((v) => (
        <div key={v} className="mb-3">
          <p className="m-0">{words.versionVV(v)} <b>{sum((l) => l.version_number === v).toLocaleString()}</b></p>
          <Bars
            label={words.readsOfVersionBy(v)}
            bars={dates.map((date) => {
              const value = sum((l) => l.version_number === v && l.date === date)
              return { key: date, value, title: `${date}: ${value.toLocaleString()}` }
            })}
          />
          <FeedbackOf lines={judged} version={ids.get(v)!} />
        </div>
      ))}
    </>
  )
}
