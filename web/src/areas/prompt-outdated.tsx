import type { PromptVersion } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium } from '../api'
import { useNames, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/prompts'
import { Button, Problem, When } from '../ui/basics'
import { Diff } from '../ui/editor'
import { Dialog } from '../ui/overlays'

/** Somebody has saved a version since the draft began: who, when, and what to do about it. Nothing typed is lost. */
export function Outdated({ id, draft, read, onKeep }: {
  id: string
  draft: string
  read: (version: PromptVersion) => string
  onKeep: (base: string) => void
}) {
  const workspace = useWorkspace()
  const names = useNames()
  const [comparing, setComparing] = useState(false)
  const latest = useQuery({
    queryKey: ['version', id, 'latest', 'now'], gcTime: 0,
    queryFn: () => atrium.promptTemplates.versions.get(id, 'latest', { workspace }),
  })
  const v = latest.data
  if (!v) return <Problem error={latest.error} />
  return (
    <div role="alert" className="my-3 rounded-md border border-warn bg-warnbg p-3 text-warn">
      <p className="m-0 mb-2">
        {words.changedBy} <b>{names(v.created_by)}</b> <When at={v.created_at} />{words.versionVersionNumberVersion(v.number)}{v.commit_message && `, “${v.commit_message}”`}. {t.draftKept}
      </p>
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => setComparing(true)}>{t.showDifference}</Button>
        <Button onClick={() => onKeep(v.id)}>{t.keepMine}</Button>
      </div>
      <Dialog open={comparing} wide onClose={() => setComparing(false)} title={words.versionAndYourDraft(v.number)}>
        <Diff before={read(v)} after={draft} labels={[words.versionNumberNumber(v.number), words.yourDraft]} />
      </Dialog>
    </div>
  )
}
