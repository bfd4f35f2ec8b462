import { AtriumError, type PromptTemplate } from '@atrium-hq/client'
import { useNavigate } from '@tanstack/react-router'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { toast } from '../app/toast'
import { useWorkspace } from '../app/workspace'
import { Button, Problem } from '../ui/basics'
import { Form, Input, Select } from '../ui/form'
import { Dialog } from '../ui/overlays'
import { t } from '../text'
import { words } from '../text/prompts'

/** Copies a prompt within the workspace. */
export function Duplicate({ prompt, onClose }: { prompt: PromptTemplate; onClose: () => void }) {
  const workspace = useWorkspace()
  const navigate = useNavigate()
  const copy = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.promptTemplates.copy(prompt.id, {
      ...(v.name && { name: v.name }), history: v.history === 'latest' ? 'latest' : 'all', visibility: prompt.visibility,
    }, { workspace }),
    onSuccess: async (made) => {
      onClose()
      await queries.invalidateQueries({ queryKey: ['prompts'] })
      void navigate({ to: `/w/${workspace}/prompts/${made.id}` as string })
    },
  })
  return (
    <Dialog open onClose={onClose} title={words.duplicateNameName(prompt.name)}>
      <Form send={t.duplicate} busy={copy.isPending} onSend={(v) => copy.mutate(v)}>
        <Input name="name" label={t.nameOfTheCopy} maxLength={255} defaultValue={`${prompt.name} copy`} />
        <Select
          name="history" label={words.versions}
          choices={[{ value: 'all', label: words.allOfThem }, { value: 'latest', label: words.onlyTheActiveOne }]}
        />
        <Problem error={copy.error} />
      </Form>
    </Dialog>
  )
}

/** Deletes a prompt, if need be although chats use it. */
export function Delete({ prompt, onClose }: { prompt: PromptTemplate; onClose: () => void }) {
  const workspace = useWorkspace()
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: (force: boolean) => atrium.promptTemplates.delete(prompt.id, { ...(force && { force }) }, { workspace }),
    onSuccess: async () => {
      toast(words.isDeleted(prompt.name), async () => {
        await atrium.promptTemplates.restore(prompt.id, { workspace })
        await queries.invalidateQueries({ queryKey: ['prompts'] })
      })
      await queries.invalidateQueries({ queryKey: ['prompts'] })
      void navigate({ to: `/w/${workspace}/prompts` as string })
    },
  })
  const inUse = AtriumError.is(remove.error, 'in_use')
  return (
    <Dialog open onClose={onClose} title={words.deleteNameName(prompt.name)}>
      <p className="mt-0">{words.applicationsCanNoLonger}</p>
      <Problem error={remove.error} />
      {inUse && <p>{words.theChatsThatUse}</p>}
      <Button tone="act" disabled={remove.isPending} onClick={() => remove.mutate(inUse)}>
        {inUse ? words.deleteItAllThe : t.delete}
      </Button>
    </Dialog>
  )
}
