import type { PromptFeedback, VersionCheck, VersionOutcomes } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { atrium } from '../api'
import { useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/prompts'
import { Pill, Problem } from '../ui/basics'
import { Table } from '../ui/table'
import { compared, figure } from './prompt-feedback'

/** The state of a check, and its result if it has one. */
export function CheckState({ check: c, isRequired = false }: { check: VersionCheck | undefined; isRequired?: boolean }) {
  return (
    <>
      <Pill tone={c?.passed ? 'ok' : isRequired || c?.threshold ? 'warn' : 'plain'}>
        {c ? (c.outdated ? words.outdated : c.conclusion.replace('_', ' ')) : words.notReported}
      </Pill>
      {c?.result != null && <> <b>{c.result}</b></>}
      {c?.threshold && <span className="text-soft"> {words.needs(bounds(c.threshold))}</span>}
      {c?.counts === false && <span className="text-soft"> · {words.doesNotCount}</span>}
    </>
  )
}

/** The bounds of a threshold: at least 0.9, at most 2. */
function bounds({ at_least: low, at_most: high }: { at_least?: number; at_most?: number }) {
  return [...(low === undefined ? [] : [`≥ ${low}`]), ...(high === undefined ? [] : [`≤ ${high}`])].join(', ')
}

/** What was reported about two versions, side by side: reads, checks and feedback. */
export function Outcomes({ id, base, version }: { id: string; base: string; version: string }) {
  const workspace = useWorkspace()
  const diff = useQuery({
    queryKey: ['outcomes', id, base, version],
    queryFn: () => atrium.promptTemplates.versions.diff(id, version, { against: base }, { workspace }),
  })
  if (!diff.data) return <Problem error={diff.error} />
  const { against, version: compares, outcomes } = diff.data
  const names = (of: (o: VersionOutcomes) => { name: string }[]) =>
    [...new Set([...of(outcomes.against), ...of(outcomes.version)].map((x) => x.name))].sort()
  const check = (o: VersionOutcomes, name: string) => <CheckState check={o.checks.find((c) => c.name === name)} />
  const line = (o: VersionOutcomes, name: string) => o.feedback.find((f) => f.name === name)
  const reported = (f: PromptFeedback | undefined) => (f ? <><b>{figure(f)}</b> {words.ofReports(f.count.toLocaleString())}</> : '–')
  const rows = [
    {
      id: 'reads', name: words.readsIn30Days, difference: '–',
      before: outcomes.against.reads.toLocaleString(), after: outcomes.version.reads.toLocaleString(),
    },
    ...names((o) => o.checks).map((name) => ({
      id: 'check ' + name, name: words.checkName(name), difference: '–',
      before: check(outcomes.against, name), after: check(outcomes.version, name),
    })),
    ...names((o) => o.feedback).map((name) => {
      const after = line(outcomes.version, name)
      return {
        id: 'feedback ' + name, name: words.feedbackName(name), before: reported(line(outcomes.against, name)),
        after: reported(after), difference: (after && compared(after)) || '–',
      }
    }),
  ]
  return (
    <>
      <h2 className="mt-6 text-base font-semibold">{words.whatWasReported}</h2>
      <Table
        label={words.whatWasReported} items={rows} id={(r) => r.id}
        columns={[
          { title: t.name, cell: (r) => r.name },
          { title: words.versionNumberNumber(against.number), cell: (r) => r.before },
          { title: words.versionNumberNumber(compares.number), cell: (r) => r.after },
          { title: words.difference, cell: (r) => r.difference },
        ]}
      />
    </>
  )
}
