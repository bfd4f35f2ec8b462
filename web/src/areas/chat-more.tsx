import { AtriumError, type ChatExport, type ChatTemplate } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type ChangeEvent, useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { toast } from '../app/toast'
import { firstPage, useWorkspace } from '../app/workspace'
import { Button, fieldErrors, Problem } from '../ui/basics'
import { Form, Input, Select } from '../ui/form'
import { Dialog } from '../ui/overlays'
import { saveFile } from '../ui/table'
import { t } from '../text'
import { words } from '../text/chats'

/** Downloads the draft of a chat. */
export async function exportChat(chat: ChatTemplate, workspace: string) {
  const data = await atrium.chatTemplates.exportTemplate(chat.id, { workspace })
  saveFile(chat.name.replace(/[^\p{L}\p{N}]+/gu, '-').toLowerCase() + '.json', JSON.stringify(data, null, 2), 'application/json')
}

/** Copies a chat within the workspace. */
export function Duplicate({ chat, onClose }: { chat: ChatTemplate; onClose: () => void }) {
  const workspace = useWorkspace()
  const opens = useOpens(onClose)
  const copy = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.chatTemplates.copy(chat.id, {
      ...(v.name && { name: v.name }), visibility: chat.visibility,
    }, { workspace }),
    onSuccess: opens,
  })
  const wrong = fieldErrors(copy.error)
  return (
    <Dialog open onClose={onClose} title={words.duplicateNameName(chat.name)}>
      <p className="mt-0">{words.theCopyIsA}</p>
      <Form send={t.duplicate} busy={copy.isPending} onSend={(v) => copy.mutate(v)}>
        <Input name="name" label={t.nameOfTheCopy} maxLength={120} defaultValue={`${chat.name} copy`} error={wrong.name} />
        <Problem error={copy.error} />
      </Form>
    </Dialog>
  )
}

/** Creates a chat from a file that an export made, here or elsewhere. */
export function Import({ onClose }: { onClose: () => void }) {
  const workspace = useWorkspace()
  const opens = useOpens(onClose)
  const [file, setFile] = useState<ChatExport>()
  const [unreadable, setUnreadable] = useState(false)
  const read = async (e: ChangeEvent<HTMLInputElement>) => {
    setFile(undefined)
    setUnreadable(false)
    try {
      const chosen = JSON.parse(await e.target.files![0]!.text()) as ChatExport
      if (!chosen.format.startsWith('atrium.chat/')) throw new Error(words.anotherFormat)
      setFile(chosen)
    } catch {
      setUnreadable(true)
    }
  }
  const prompt = file?.content.prompt
  const answers = !!file && file.content.reply.kind !== 'none'
  const prompts = useQuery({
    queryKey: ['prompts to import with', workspace], enabled: !!prompt,
    queryFn: () => firstPage(atrium.promptTemplates.list({ limit: 100 }, { workspace })).then((p) => p.data),
  })
  const connections = useQuery({
    queryKey: ['connections to import with', workspace], enabled: answers,
    queryFn: () => firstPage(atrium.connections.list({ limit: 100 }, { workspace })).then((p) => p.data),
  })
  const repliers = connections.data?.filter((c) => c.kind === (file?.content.reply.kind === 'http' ? 'reply_endpoint' : 'openai_compatible'))
  const create = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.chatTemplates.importTemplate({
      export: file!, ...(v.name && { name: v.name }),
      ...(prompt && { prompt_template_id: v.prompt || null }), ...(answers && { connection_id: v.connection || null }),
    }, { workspace }),
    onSuccess: opens,
  })
  const wrong = fieldErrors(create.error)
  return (
    <Dialog open onClose={onClose} title={words.importAChat}>
      <Form send={t.import} busy={create.isPending || !file} onSend={(v) => create.mutate(v)}>
        <Input
          name="file" type="file" accept="application/json,.json" label={words.file} required autoFocus onChange={(e) => void read(e)}
          hint={words.theFileOfAn} error={unreadable ? words.thisFileIsNot : undefined}
        />
        {file && <Input key={file.content.name} name="name" label={t.name} maxLength={120} defaultValue={file.content.name} error={wrong.name} />}
        {prompt && (
          <Select
            name="prompt" label={words.promptWithTheInstructions} error={wrong.prompt_template_id}
            key={prompts.dataUpdatedAt} defaultValue={prompts.data?.some((p) => p.id === prompt.prompt_template_id) ? prompt.prompt_template_id : ''}
            choices={[{ value: '', label: words.none }, ...(prompts.data ?? []).map((p) => ({ value: p.id, label: p.name }))]}
          />
        )}
        {answers && (
          <Select
            name="connection" label={words.connectionThatAnswers} error={wrong.connection_id}
            key={connections.dataUpdatedAt} defaultValue={repliers?.some((c) => c.id === file.content.reply.connection_id) ? file.content.reply.connection_id : ''}
            choices={[{ value: '', label: words.none }, ...(repliers ?? []).map((c) => ({ value: c.id, label: c.name }))]}
          />
        )}
        {AtriumError.is(create.error) && create.error.errors.length > 0 && Object.keys(wrong).length === 0 && (
          <ul className="text-bad">{create.error.errors.map((e) => <li key={e.pointer + e.code}>{e.detail}</li>)}</ul>
        )}
        <Problem error={create.error} />
      </Form>
    </Dialog>
  )
}

/** Deletes a chat, which can be taken back. */
export function Delete({ chat, onClose }: { chat: ChatTemplate; onClose: () => void }) {
  const workspace = useWorkspace()
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: () => atrium.chatTemplates.delete(chat.id, { workspace }),
    onSuccess: async () => {
      onClose()
      toast(words.isDeleted(chat.name), async () => {
        await atrium.chatTemplates.restore(chat.id, { workspace })
        await queries.invalidateQueries({ queryKey: ['chats'] })
      })
      await queries.invalidateQueries({ queryKey: ['chats'] })
      void navigate({ to: `/w/${workspace}/chats` as string })
    },
  })
  return (
    <Dialog open onClose={onClose} title={words.deleteNameName(chat.name)}>
      <p className="mt-0">{words.sitesThatEmbedIt}</p>
      <Problem error={remove.error} />
      <Button tone="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>{t.delete}</Button>
    </Dialog>
  )
}

/** Returns what closes a dialog and opens the chat that it made. */
function useOpens(onClose: () => void) {
  const workspace = useWorkspace()
  const navigate = useNavigate()
  return async (made: { id: string }) => {
    onClose()
    await queries.invalidateQueries({ queryKey: ['chats'] })
    void navigate({ to: `/w/${workspace}/chats/${made.id}` as string })
  }
}
