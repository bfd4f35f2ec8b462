import { AtriumError, type ChatTemplate, type RegistryItem } from '@atrium-hq/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { atrium, queries } from '../api'
import { useList, useParam, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { Button, Card, Copy, fieldErrors, Heading, Loading, Pill, Problem, Secret, When } from '../ui/basics'
import { Form, Input, TextArea } from '../ui/form'
import { Confirm, Tabs } from '../ui/overlays'
import { Table } from '../ui/table'

export function Chat() {
  const workspace = useWorkspace()
  const id = useParam('id')
  const [tab, setTab] = useState('configure')
  const chat = useQuery({ queryKey: ['chat', id], queryFn: () => atrium.chatTemplates.get(id, { workspace }) })
  const publish = useMutation({
    mutationFn: (status: string) => atrium.chatTemplates.update(id, { status }, { workspace, ifMatch: chat.data! }),
    onSuccess: () => queries.invalidateQueries(),
  })
  if (!chat.data) return chat.error ? <Problem error={chat.error} /> : <Loading />
  const c = chat.data
  const mayEdit = c.my_role !== 'viewer'
  return (
    <>
      <Heading title={c.name}>
        <Pill tone={c.status === 'published' ? 'ok' : 'plain'}>{c.status}</Pill>
        {mayEdit && (
          <Button tone={c.status === 'published' ? 'plain' : 'act'} disabled={publish.isPending} onClick={() => publish.mutate(c.status === 'published' ? 'draft' : 'published')}>
            {c.status === 'published' ? 'Take back to draft' : 'Publish'}
          </Button>
        )}
      </Heading>
      <Problem error={publish.error} />
      {c.issues.length > 0 && (
        <div role="alert" className="mb-4 rounded-md border border-warn bg-warnbg p-3 text-warn">
          {c.issues.map((i) => <p key={i.pointer + i.code} className="m-0">{i.detail}</p>)}
        </div>
      )}
      <Tabs
        value={tab} onChange={setTab}
        tabs={[
          { id: 'configure', label: 'Configure', body: <Configure latest={c} mayEdit={mayEdit} /> },
          { id: 'embed', label: 'Embed', body: <Embed id={id} mayEdit={mayEdit} /> },
          { id: 'members', label: 'Members', body: <ChatMembers id={id} /> },
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
          Somebody else has changed this meanwhile. <Button tone="quiet" onClick={begin}>Show theirs, and discard mine</Button>
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
          <Input name="name" label="Name" required maxLength={120} defaultValue={chat.name} error={wrong.name} />
          <Input name="description" label="Description" maxLength={500} defaultValue={chat.description} error={wrong.description} />
          {chat.prompt
            ? <PromptLink id={chat.prompt.prompt_template_id} />
            : <TextArea name="instructions" label="Instructions" rows={8} defaultValue={chat.instructions} error={wrong.instructions} />}
          <TextArea name="greeting" label="Greeting" rows={2} defaultValue={chat.greeting} error={wrong.greeting} />
          <TextArea name="starters" label="Conversation starters" hint="One in each line." defaultValue={chat.conversation_starters.join('\n')} error={wrong.conversation_starters} />
        </div>
        <div>
          {picker('agents', 'Agents')}
          {picker('tools', 'Tools')}
          {picker('capabilities', 'Capabilities')}
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
      The instructions are the prompt{' '}
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

function Embed({ id, mayEdit }: { id: string; mayEdit: boolean }) {
  const workspace = useWorkspace()
  const list = useList(['embed', id], (cursor) => atrium.chatTemplates.embedTokens.list(id, { limit: 50, ...(cursor && { cursor }) }, { workspace }))
  const refresh = () => queries.invalidateQueries({ queryKey: ['embed', id] })
  const create = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.chatTemplates.embedTokens.create(id, {
      name: v.name ?? '', allowed_origins: (v.origins ?? '').split(/\s+/).filter(Boolean),
    }, { workspace }),
    onSuccess: refresh,
  })
  const wrong = fieldErrors(create.error)
  const script = new URL('../embed.js', document.baseURI).href
  const snippet = create.data && `<script src="${script}" data-token="${create.data.token}" async></script>`
  return (
    <>
      <Problem error={list.error} />
      {list.items.length > 0 && (
        <Table
          label="Embed tokens" items={list.items} id={(x) => x.id}
          columns={[
            { title: 'Name', cell: (x) => <>{x.name} <code className="text-xs text-soft">{x.hint}</code></> },
            { title: 'Origins', cell: (x) => x.allowed_origins.join(', ') },
            { title: 'Status', narrow: true, cell: (x) => <Pill tone={x.status === 'active' ? 'ok' : 'plain'}>{x.status}</Pill> },
            { title: 'Used', narrow: true, cell: (x) => <><When at={x.last_used_at} /> {x.last_used_origin}</> },
            {
              title: t.actions, narrow: true,
              cell: (x) => mayEdit && (
                <Confirm
                  label="Delete" title={`Delete ${x.name}`} act="Delete" body="Sites that use it no longer show the chat, at once."
                  run={() => atrium.chatTemplates.embedTokens.delete(id, x.id, { workspace }).then(refresh)}
                />
              ),
            },
          ]}
        />
      )}
      {snippet && (
        <Card title="Put this into your site" actions={<Copy text={snippet} />}>
          <Secret value={create.data.token} hint="The token is shown only now. It is public, and works from its origins only." />
          <pre tabIndex={0} className="mb-0 overflow-x-auto text-xs">{snippet}</pre>
        </Card>
      )}
      {mayEdit && (
        <div className="mt-4 max-w-lg">
          <Card title="New embed token">
            <Form send={t.create} busy={create.isPending} onSend={(v) => create.mutate(v)}>
              <Input name="name" label="Name" required maxLength={120} error={wrong.name} />
              <TextArea name="origins" label="Sites that may show the chat" required rows={3} placeholder="https://www.example.com" hint="One origin in each line." error={wrong.allowed_origins} />
              <Problem error={create.error} />
            </Form>
          </Card>
        </div>
      )}
    </>
  )
}

function ChatMembers({ id }: { id: string }) {
  const workspace = useWorkspace()
  const list = useList(['chat members', id], (cursor) => atrium.chatTemplates.members.list(id, { limit: 50, ...(cursor && { cursor }) }, { workspace }))
  if (list.isPending) return <Loading />
  return (
    <>
      <Problem error={list.error} />
      {list.items.length === 0 && <p className="text-soft">It has no members of its own.</p>}
      {list.items.length > 0 && (
        <Table
          label="Members" items={list.items} id={(m) => m.user_id}
          columns={[{ title: 'Who', cell: (m) => m.name || m.email || m.user_id }, { title: 'Role', narrow: true, cell: (m) => m.role }]}
        />
      )}
    </>
  )
}
