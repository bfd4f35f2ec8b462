import { AtriumError, type CheckThreshold, type PromptTemplate, type PromptTemplatePatch } from '@atrium-hq/client'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useWorkspace } from '../app/workspace'
import { fieldErrors, Problem } from '../ui/basics'
import { Form, Input, Select } from '../ui/form'
import { Dialog } from '../ui/overlays'
import { t } from '../text'
import { words } from '../text/prompts'

/** The names in a text that separates them by commas. */
const names = (text: string | undefined) => (text ?? '').split(',').map((name) => name.trim()).filter(Boolean)

/** The thresholds in a text such as "eval >= 0.9, cost <= 2". The server refuses what is none. */
function thresholds(text: string | undefined): CheckThreshold[] {
  const found = new Map<string, CheckThreshold>()
  for (const item of names(text)) {
    const [, name = item, bound, number] = /^(\S+?)\s*(>=|≥|<=|≤)\s*(-?\d+(?:\.\d+)?)$/.exec(item) ?? []
    found.set(name, { ...found.get(name), name, ...(bound && { [/[>≥]/.test(bound) ? 'at_least' : 'at_most']: Number(number) }) })
  }
  return [...found.values()]
}

const written = (all: CheckThreshold[]) => all.flatMap(({ name, at_least: low, at_most: high }) => [
  ...(low === undefined ? [] : [`${name} >= ${low}`]), ...(high === undefined ? [] : [`${name} <= ${high}`]),
]).join(', ')

/** Changes what a prompt is called, who sees it, and what an activation must keep to. */
export function Settings({ prompt, onClose }: { prompt: PromptTemplate; onClose: () => void }) {
  const workspace = useWorkspace()
  const [seen] = useState(prompt)
  const manages = seen.my_role === 'manager' || seen.my_role === 'owner'
  const save = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.promptTemplates.update(seen.id, {
      name: v.name ?? seen.name, description: v.description ?? '',
      tags: names(v.tags),
      ...(manages && {
        visibility: v.visibility as PromptTemplatePatch['visibility'], protected: v.protected === 'yes',
        compatibility: v.compatibility as PromptTemplatePatch['compatibility'],
        approvals: Number(v.approvals ?? 0),
        required_checks: names(v.checks), check_thresholds: thresholds(v.thresholds), gated_labels: names(v.gated), protected_labels: names(v.guarded),
        include_mode: v.include_mode as PromptTemplatePatch['include_mode'],
      }),
    } as PromptTemplatePatch, { workspace, ifMatch: seen }),
    onSuccess: async () => {
      onClose()
      await queries.invalidateQueries()
    },
  })
  const wrong = fieldErrors(save.error)
  return (
    <Dialog open onClose={onClose} title={words.settingsOf(seen.name)}>
      <Form send={t.save} busy={save.isPending} onSend={(v) => save.mutate(v)}>
        <Input name="name" label={t.name} required maxLength={255} hint={words.aSeparatesFolders} defaultValue={seen.name} error={wrong.name} />
        <Input name="description" label={t.description} maxLength={2000} defaultValue={seen.description} error={wrong.description} />
        <Input name="tags" label={words.tags} hint={words.separatedByCommas} defaultValue={seen.tags.join(', ')} error={wrong.tags} />
        <fieldset disabled={!manages} className="m-0 border-0 p-0">
          <Select
            name="visibility" label={words.whoSeesIt} defaultValue={seen.visibility}
            choices={[
              { value: 'private', label: words.onlyTheOwnerAnd },
              { value: 'workspace', label: words.everybodyInTheWorkspace },
            ]}
          />
          <Select
            name="protected" label={words.whoActivatesVersions} defaultValue={seen.protected ? 'yes' : 'no'}
            choices={[{ value: 'no', label: words.editors }, { value: 'yes', label: words.managersOnly }]}
          />
          <Input
            name="approvals" type="number" min={0} max={10} label={words.approvalsThatAnEditor} defaultValue={seen.approvals} error={wrong.approvals}
            hint={words.whereOnlyManagersActivate}
          />
          <Input
            name="checks" label={words.requiredChecks} defaultValue={seen.required_checks.join(', ')} error={wrong.required_checks}
            hint={words.namesSeparatedByCommas}
          />
          <Input
            name="thresholds" label={words.thresholds} defaultValue={written(seen.check_thresholds)} error={wrong.check_thresholds}
            hint={words.resultsThatChecksNeed}
          />
          <Input
            name="gated" label={words.gatedLabels} defaultValue={seen.gated_labels.join(', ')} error={wrong.gated_labels}
            hint={words.gatedLabelsWait}
          />
          <Input
            name="guarded" label={words.protectedLabels} defaultValue={seen.protected_labels.join(', ')} error={wrong.protected_labels}
            hint={words.protectedLabelsAreMoved}
          />
          <Select
            name="compatibility" label={words.whatANewActive} defaultValue={seen.compatibility}
            hint={words.applicationsBreakIfA}
            choices={[{ value: 'none', label: words.anything }, { value: 'backward', label: words.nothingThatBreaksApplications }]}
          />
          <Select
            name="include_mode" label={words.whichTextsReleasedVersions} defaultValue={seen.include_mode}
            hint={words.textIncludesAnotherPrompt}
            choices={[
              { value: 'pinned', label: words.thoseFromWhenThe },
              { value: 'floating', label: words.theCurrentOnes },
            ]}
          />
        </fieldset>
        {!manages && <p className="text-soft">{words.managersOfThePrompt}</p>}
        {AtriumError.is(save.error, 'revision_mismatch') && <p className="text-bad">{t.changed}</p>}
        <Problem error={save.error} />
      </Form>
    </Dialog>
  )
}
