import type { PromptVersion, PromptVersionSummary } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { atrium } from '../api'
import { useShown } from '../app/shown'
import { useWorkspace } from '../app/workspace'
import { words } from '../text/prompts'
import { Loading, Problem } from '../ui/basics'
import { Diff } from '../ui/editor'
import { InlineSelect } from '../ui/form'
import { Outcomes } from './prompt-outcomes'

/** What is on the screen, compared with any version: at first with the active one. */
export function Compare({ id, active, versions, read, after, label, saved }: {
  id: string
  /** The number of the active version. */
  active: number | undefined
  versions: PromptVersionSummary[]
  read: (version: PromptVersion | undefined) => string
  after: string
  label: string
  /** The version that is on the screen; absent for a draft that is not saved. */
  saved: string | undefined
}) {
  const workspace = useWorkspace()
  const [base, setBase] = useShown('with', 'active')
  const isNothing = base === 'active' && active === undefined
  const version = useQuery({
    queryKey: ['version', id, base], enabled: !isNothing,
    queryFn: () => atrium.promptTemplates.versions.get(id, base, { workspace }),
  })
  const choices = [
    { value: 'active', label: active === undefined ? words.nothingIsActive : words.activeVersionNumber(active) },
    ...versions.map((v) => ({ value: 'v' + v.number, label: words.versionNumberNumber(v.number) })),
  ]
  // The address can name a version that is in no page of the list yet.
  if (!choices.some((c) => c.value === base)) choices.push({ value: base, label: base })
  const shown = version.data
  return (
    <>
      <div className="mb-3 flex items-center gap-2">
        <span aria-hidden="true">{words.compareWith}</span>
        <InlineSelect label={words.compareWith} value={base} choices={choices} onChange={(e) => setBase(e.target.value)} />
      </div>
      <Problem error={version.error} />
      {!shown && !isNothing && !version.error && <Loading />}
      {(shown || isNothing) && (
        <Diff
          before={read(shown)} after={after}
          labels={[!shown ? words.nothingIsActive : base === 'active' ? words.activeVersionNumber(shown.number) : words.versionNumberNumber(shown.number), label]}
        />
      )}
      {shown && saved && shown.id !== saved && <Outcomes id={id} base={shown.id} version={saved} />}
    </>
  )
}
