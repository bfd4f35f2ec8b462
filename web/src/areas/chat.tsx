import { AtriumError, type ChatTemplate, type RegistryItem } from '@atrium-hq/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { atrium, queries } from '../api'
import { toast } from '../app/toast'
import { useParam, usePermission, useWorkspace } from '../app/workspace'
import { Up } from '../app/up'
import { t } from '../text'
import { words } from '../text/chats'
import { Button, fieldErrors, Heading, Loading, Pill, Problem } from '../ui/basics'
import { Form, Input, TextArea } from '../ui/form'
import { Menu } from '../ui/menu'
import { Tabs } from '../ui/overlays'
import { Embed } from './chat-embed'
import { Look } from './chat-look'
import { ChatMembers } from './chat-members'
import { Delete, Duplicate, exportChat } from './chat-more'
import { Publications, Publish } from './chat-publish'

export { ChatPreview } from './chat-look'

export function Chat() {
  const workspace = useWorkspace()
  const id = useParam('id')
  const [tab, setTab] = useState('configure')
  const chat = useQuery({ queryKey: ['chat', id], queryFn: () => atrium.chatTemplates.get(id, { workspace }) })
  const may = usePermission()
  const [publishing, setPublishing] = useState(false)
  const [more, setMore] = useState<'duplicate' | 'delete'>()
  const download = useMutation({ mutationFn: (of: ChatTemplate) => exportChat(of, workspace) })
  const retract = useMutation({
    mutationFn: () => atrium.chatTemplates.update(id, { status: 'draft' }, { workspace, ifMatch: chat.data! }),
    onSuccess: () => queries.invalidateQueries(),
  })
  if (!chat.data) return chat.error ? <Problem error={chat.error} /> : <Loading />
  const c = chat.data
  const mayEdit = c.my_role !== 'viewer', manages = ['manager', 'owner'].includes(c.my_role)
  return (
    <>
      <Heading title={c.name} up={<Up to="chats">{t.chats}</Up>}>
        <Pill tone={c.status === 'published' ? 'ok' : 'plain'}>
          {c.status === 'published' && c.published_version !== null ? words.versionPublished(c.published_version) : c.status}
        </Pill>
        {c.status === 'published' && c.unpublished_changes && <Pill tone="warn">{words.unpublishedChanges}</Pill>}
        <Menu
          items={[
            mayEdit && may('chat_templates.create') && { label: t.duplicateDialog, onClick: () => setMore('duplicate') },
            mayEdit && { label: t.export, onClick: () => download.mutate(c) },
            c.my_role === 'owner' && { label: t.deleteDialog, danger: true, onClick: () => setMore('delete') },
          ]}
        />
        {manages && c.status === 'published' && (
          <Button disabled={retract.isPending} onClick={() => retract.mutate()}>{words.takeOffline}</Button>
        )}
        {manages && (
          <Button tone="act" disabled={c.status === 'published' && !c.unpublished_changes} onClick={() => setPublishing(true)}>
            {c.status === 'published' ? words.publishChanges : words.publish}
          </Button>
        )}
      </Heading>
      <Problem error={retract.error ?? download.error} />
      {more === 'duplicate' && <Duplicate chat={c} onClose={() => setMore(undefined)} />}
      {more === 'delete' && <Delete chat={c} onClose={() => setMore(undefined)} />}
      {publishing && <Publish chat={c} onClose={() => setPublishing(false)} />}
      {c.issues.length > 0 && (
        <div role="alert" className="mb-4 rounded-md border border-warn bg-warnbg p-3 text-warn">
          {c.issues.map((i) => <p key={i.pointer + i.code} className="m-0">{i.detail}</p>)}
        </div>
      )}
      <Tabs
        value={tab} onChange={setTab}
        tabs={[
          { id: 'configure', label: words.configure, body: <Configure latest={c} mayEdit={mayEdit} /> },
          ...(mayEdit ? [
            { id: 'look', label: words.look, body: <Look key={c.revision} chat={c} mayEdit={mayEdit} /> },
            { id: 'history', label: t.history, body: <Publications chat={c} /> },
          ] : []),
          ...(manages ? [{ id: 'embed', label: words.embed, body: <Embed chat={c} /> }] : []),
          { id: 'members', label: t.members, body: <ChatMembers chat={c} /> },
        ]}
      />
    </>
  )
}

/** Edits what a chat is. What somebody else changes meanwhile never replaces what is typed. */
function Configure({ latest, mayEdit }: { latest: ChatTemplate; mayEdit: boolean }) {
  const [chat, setChat] = useState(latest)
  const [typed, setTyped] = useState(false)
  const newer = latest.revision > chat.revision
  const begin = () => { setChat(latest); setTyped(false) }
  useEffect(() => {
    if (!typed && newer) setChat(latest)
  }, [typed, newer, latest])
  return (
    <>
      {typed && newer && (
        <p role="status" className="mt-0 text-warn">
          {words.somebodyElseHasChanged} <Button tone="quiet" onClick={begin}>{words.showTheirsAndDiscard}</Button>
        </p>
      )}
      <Edit
        key={chat.revision} chat={chat} mayEdit={mayEdit} onType={() => setTyped(true)}
        onSaved={(saved) => { setChat(saved); setTyped(false) }}
      />
    </>
  )
}

function Edit({ chat, mayEdit, onType, onSaved }: {
  chat: ChatTemplate
  mayEdit: boolean
  onType: () => void
  onSaved: (chat: ChatTemplate) => void
}) {
  const workspace = useWorkspace()
  const registry = useQuery({ queryKey: ['registry', workspace], queryFn: () => atrium.chatTemplates.getRegistry({ workspace }) })
  const [picked, setPicked] = useState({
    agents: chat.agents.map((a) => a.id), tools: chat.tools.map((x) => x.id), capabilities: chat.capabilities,
  })
  const save = useMutation({
    mutationFn: (v: Record<string, string>) => {
      const kept = (all: { id: string }[], ids: string[]) => ids.map((id) => all.find((x) => x.id === id) ?? { id })
      return atrium.chatTemplates.update(chat.id, {
        name: v.name ?? chat.name, description: v.description || null, greeting: v.greeting || null,
        ...(!chat.prompt && { instructions: v.instructions || null }),
        conversation_starters: (v.starters ?? '').split('\n').map((s) => s.trim()).filter(Boolean),
        agents: kept(chat.agents, picked.agents), tools: kept(chat.tools, picked.tools), capabilities: picked.capabilities,
      }, { workspace, ifMatch: chat })
    },
    onSuccess: async (saved) => {
      onSaved(saved)
      toast(t.saved)
      await queries.invalidateQueries({ queryKey: ['chat', chat.id] })
    },
  })
  const wrong = fieldErrors(save.error)
  const picker = (name: keyof typeof picked, title: string) => (
    <Picker
      title={title} items={registry.data?.[name] ?? []} picked={picked[name]} disabled={!mayEdit}
      onChange={(ids) => { onType(); setPicked({ ...picked, [name]: ids }) }}
    />
  )
  return (
    <Form saves send={t.save} busy={save.isPending || !mayEdit} onSend={(v) => save.mutate(v)}>
      <fieldset disabled={!mayEdit} onInput={onType} className="m-0 grid gap-x-6 border-0 p-0 lg:grid-cols-2">
        <div>
          <Input name="name" label={t.name} required maxLength={120} defaultValue={chat.name} error={wrong.name} />
          <Input name="description" label={t.description} maxLength={500} defaultValue={chat.description} error={wrong.description} />
          {chat.prompt
            ? <PromptLink id={chat.prompt.prompt_template_id} />
            : <TextArea name="instructions" label={words.instructions} rows={8} defaultValue={chat.instructions} error={wrong.instructions} />}
          <TextArea name="greeting" label={words.greeting} rows={2} defaultValue={chat.greeting} error={wrong.greeting} />
          <TextArea name="starters" label={words.conversationStarters} hint={words.oneInEachLine} defaultValue={chat.conversation_starters.join('\n')} error={wrong.conversation_starters} />
        </div>
        <div>
          {picker('agents', words.agents)}
          {picker('tools', words.tools)}
          {picker('capabilities', words.capabilities)}
        </div>
      </fieldset>
      {AtriumError.is(save.error, 'revision_mismatch') && <p className="text-bad">{t.changed}</p>}
      <Problem error={save.error} />
    </Form>
  )
}

/** Names the prompt that has the instructions. Who may not see it reads its id. */
function PromptLink({ id }: { id: string }) {
  const workspace = useWorkspace()
  const prompt = useQuery({ queryKey: ['prompt', id], queryFn: () => atrium.promptTemplates.get(id, { workspace }) })
  return (
    <p className="mb-3">
      {words.theInstructionsAreThe}{' '}
      {prompt.data ? <Link to={`/w/${workspace}/prompts/${id}` as string}>{prompt.data.name}</Link> : <code>{id}</code>}.
    </p>
  )
}

function Picker({ title, items, picked, onChange, disabled }: {
  title: string
  items: RegistryItem[]
  picked: string[]
  onChange: (ids: string[]) => void
  disabled: boolean
}) {
  if (items.length === 0) return null
  return (
    <fieldset className="m-0 mb-4 rounded-lg border border-line p-3" disabled={disabled}>
      <legend className="px-1 font-medium">{title}</legend>
      {items.map((item) => (
        <label key={item.id} className="mb-1 flex gap-2">
          <input
            type="checkbox" checked={picked.includes(item.id)} disabled={item.status === 'disabled' && !picked.includes(item.id)}
            onChange={(e) => onChange(e.target.checked ? [...picked, item.id] : picked.filter((id) => id !== item.id))}
          />
          <span>
            {item.name} {item.status !== 'available' && <Pill tone="warn">{item.status}</Pill>}
            {item.description && <span className="block text-xs text-soft">{item.description}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  )
}
