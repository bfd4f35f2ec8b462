import { AtriumError, type PromptTemplate, type PromptTemplatePatch } from '@atrium-hq/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useWorkspace } from '../app/workspace'
import { fieldErrors, Problem } from '../ui/basics'
import { Form, Input, Select } from '../ui/form'
import { Dialog } from '../ui/overlays'
import { t } from '../text'

/** Changes what a prompt is called, who sees it, and what an activation must keep to. */
export function Settings({ prompt, onClose }: { prompt: PromptTemplate; onClose: () => void }) {
  const workspace = useWorkspace()
  const [seen] = useState(prompt)
  const manages = seen.my_role === 'manager' || seen.my_role === 'owner'
  const save = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.promptTemplates.update(seen.id, {
      name: v.name ?? seen.name, description: v.description ?? '',
      tags: (v.tags ?? '').split(',').map((tag) => tag.trim()).filter(Boolean),
      ...(manages && {
        visibility: v.visibility as PromptTemplatePatch['visibility'], protected: v.protected === 'yes',
        compatibility: v.compatibility as PromptTemplatePatch['compatibility'],
        approvals: Number(v.approvals ?? 0),
        required_checks: (v.checks ?? '').split(',').map((name) => name.trim()).filter(Boolean),
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
    <Dialog open onClose={onClose} title={`Settings of ${seen.name}`}>
      <Form send={t.save} busy={save.isPending} onSend={(v) => save.mutate(v)}>
        <Input name="name" label="Name" required maxLength={255} hint="A / separates folders." defaultValue={seen.name} error={wrong.name} />
        <Input name="description" label="Description" maxLength={2000} defaultValue={seen.description} error={wrong.description} />
        <Input name="tags" label="Tags" hint="Separated by commas." defaultValue={seen.tags.join(', ')} error={wrong.tags} />
        <fieldset disabled={!manages} className="m-0 border-0 p-0">
          <Select
            name="visibility" label="Who sees it" defaultValue={seen.visibility}
            choices={[
              { value: 'private', label: 'Only the owner and those it is shared with' },
              { value: 'workspace', label: 'Everybody in the workspace' },
            ]}
          />
          <Select
            name="protected" label="Who activates versions" defaultValue={seen.protected ? 'yes' : 'no'}
            choices={[{ value: 'no', label: 'Editors' }, { value: 'yes', label: 'Managers only' }]}
          />
          <Input
            name="approvals" type="number" min={0} max={10} label="Approvals that an editor needs" defaultValue={seen.approvals} error={wrong.approvals}
            hint="Where only managers activate versions: with how many approvals of others an editor can, too. 0: not at all."
          />
          <Input
            name="checks" label="Required checks" defaultValue={seen.required_checks.join(', ')} error={wrong.required_checks}
            hint="Names, separated by commas. A version is activated when other systems have reported that it passes them."
          />
          <Select
            name="compatibility" label="What a new active version may change" defaultValue={seen.compatibility}
            hint="Applications break if a version needs a new variable, offers another tool or answers in another form."
            choices={[{ value: 'none', label: 'Anything' }, { value: 'backward', label: 'Nothing that breaks applications' }]}
          />
          <Select
            name="include_mode" label="Which texts released versions include" defaultValue={seen.include_mode}
            hint="Text includes another prompt with {{> folder/name}} or {{> folder/name@label}}."
            choices={[
              { value: 'pinned', label: 'Those from when the version was released' },
              { value: 'floating', label: 'The current ones' },
            ]}
          />
        </fieldset>
        {!manages && <p className="text-soft">Managers of the prompt can change the last six.</p>}
        {AtriumError.is(save.error, 'revision_mismatch') && <p className="text-bad">{t.changed}</p>}
        <Problem error={save.error} />
      </Form>
    </Dialog>
  )
}
