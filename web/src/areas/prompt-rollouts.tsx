import type { PromptRollout } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { toast } from '../app/toast'
import { useWorkspace } from '../app/workspace'
import { Button, Problem, When } from '../ui/basics'
import { words } from '../text/prompts'
import { FeedbackOf, useFeedback } from './prompt-feedback'

/** A rollout: what each version's readers reported, and a button that gives everyone that version. */
function Rollout({ id, rollout: r, busy, onEnd }: {
  id: string
  rollout: PromptRollout
  busy: boolean
  onEnd: (version: string) => void
}) {
  const feedback = useFeedback(id, r.versions[0]!.version_id)
  return (
    <section aria-label={words.rolloutOf(r.label)} className="mb-4 rounded-md border border-line p-3">
      <b>{r.label}</b> {words.isRolledOutTo(r.versions.length)}
      {r.worse_reported_at && <p className="m-0 text-bad">{words.aVersionIsWorse} <When at={r.worse_reported_at} /></p>}
      <ul className="m-0 mt-2 list-none p-0">
        {r.versions.map((v) => (
          <li key={v.version_id} className="mb-2">
            <div className="flex items-center justify-between gap-3">
              <span>{words.versionOfTheReaders(v.version_number, v.weight)}</span>
              <Button tone="quiet" disabled={busy} onClick={() => onEnd(v.version_id)}>
                {words.giveEverybodyVersion(v.version_number)}
              </Button>
            </div>
            <FeedbackOf lines={feedback.data?.versions ?? []} version={v.version_id} />
          </li>
        ))}
      </ul>
    </section>
  )
}

/** The rollouts of a prompt's labels, and how they end: every reader gets one of the versions. */
export function Rollouts({ id }: { id: string }) {
  const workspace = useWorkspace()
  const rollouts = useQuery({
    queryKey: ['rollouts', id], queryFn: () => atrium.promptTemplates.labels.rollouts(id, { workspace }),
  })
  const end = useMutation({
    mutationFn: ({ label, version, from }: { label: string; version: string; from: string }) =>
      atrium.promptTemplates.labels.move(id, label, { version, expected_version: from, reason: words.theRolloutEnds }, { workspace }),
    onSuccess: ({ activation_request: asked }, { label }) => {
      if (asked) toast(words.theLabelWaits(label, asked.waits_for.join(' and ')))
    },
    onSettled: () => queries.invalidateQueries(),
  })
  return (
    <>
      <Problem error={rollouts.error} />
      {rollouts.data?.data.map((r) => (
        <Rollout
          key={r.label} id={id} rollout={r} busy={end.isPending}
          onEnd={(version) => end.mutate({ label: r.label, version, from: r.versions[0]!.version_id })}
        />
      ))}
      <Problem error={end.error} />
    </>
  )
}
