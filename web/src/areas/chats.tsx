import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useCreating, useList, usePermission, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/chats'
import { Button, Empty, fieldErrors, Heading, Loading, Pill, Problem, When } from '../ui/basics'
import { Form, Input, TextArea } from '../ui/form'
import { AddIcon } from '../ui/icons'
import { Dialog } from '../ui/overlays'
import { More, Table } from '../ui/table'
import { Import } from './chat-more'

export function Chats() {
  const workspace = useWorkspace()
  const may = usePermission()
  const [creating, setCreating] = useCreating()
  const [importing, setImporting] = useState(false)
  const list = useList(['chats', workspace], (cursor) => atrium.chatTemplates.list({ limit: 50, ...(cursor && { cursor }) }, { workspace }))
  return (
    <>
      <Heading title={t.chats}>
        {may('chat_templates.create') && <Button onClick={() => setImporting(true)}>{words.importDialog}</Button>}
        {may('chat_templates.create') && <Button tone="act" data-key="c" onClick={() => setCreating(true)}><AddIcon size={16} aria-hidden="true" />{t.newChat}</Button>}
      </Heading>
      <Problem error={list.error} />
      {list.isPending && <Loading />}
      {list.isSuccess && list.items.length === 0 && (
        <Empty title={words.thereAreNoChats}>{words.aChatHasInstructions}</Empty>
      )}
      {list.items.length > 0 && (
        <Table
          label={t.chats} items={list.items} id={(c) => c.id} csv="chats"
          columns={[
            {
              title: t.name, text: (c) => c.name,
              cell: (c) => (
                <>
                  <Link className="font-medium" to={`/w/${workspace}/chats/${c.id}` as string}>{c.name}</Link>
                  {c.description && <p className="m-0 text-xs text-soft">{c.description}</p>}
                </>
              ),
            },
            { title: t.status, narrow: true, text: (c) => c.status, cell: (c) => <Pill tone={c.status === 'published' ? 'ok' : 'plain'}>{c.status}</Pill> },
            { title: words.health, narrow: true, text: (c) => c.health, cell: (c) => <Pill tone={c.health === 'ok' ? 'ok' : 'warn'}>{c.health}</Pill> },
            { title: words.yourRole, narrow: true, text: (c) => c.my_role, cell: (c) => c.my_role },
            { title: t.changedTitle, narrow: true, text: (c) => c.updated_at, cell: (c) => <When at={c.updated_at} /> },
          ]}
        />
      )}
      <More list={list} />
      {creating && <Create onClose={() => setCreating(false)} />}
      {importing && <Import onClose={() => setImporting(false)} />}
    </>
  )
}

function Create({ onClose }: { onClose: () => void }) {
  const workspace = useWorkspace()
  const navigate = useNavigate()
  const create = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.chatTemplates.create(
      { name: v.name ?? '', ...(v.instructions && { instructions: v.instructions }) }, { workspace },
    ),
    onSuccess: async (made) => {
      await queries.invalidateQueries({ queryKey: ['chats'] })
      void navigate({ to: `/w/${workspace}/chats/${made.id}` as string })
    },
  })
  const wrong = fieldErrors(create.error)
  return (
    <Dialog open onClose={onClose} title={t.newChat}>
      <Form send={t.create} busy={create.isPending} onSend={(v) => create.mutate(v)}>
        <Input name="name" label={t.name} required maxLength={120} autoFocus error={wrong.name} />
        <TextArea name="instructions" label={words.instructions} error={wrong.instructions} hint={words.aPromptCanTake} />
        <Problem error={create.error} />
      </Form>
    </Dialog>
  )
}
