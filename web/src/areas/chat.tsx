import type { ChatTemplate } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useShown } from '../app/shown'
import { useParam, usePermission, useWorkspace } from '../app/workspace'
import { Up } from '../app/up'
import { t } from '../text'
import { words } from '../text/chats'
import { Button, Heading, Loading, Missing, Pill, Problem } from '../ui/basics'
import { Menu } from '../ui/menu'
import { Tabs } from '../ui/overlays'
import { Configure } from './chat-configure'
import { Embed } from './chat-embed'
import { Languages } from './chat-languages'
import { Look } from './chat-look'
import { ChatMembers } from './chat-members'
import { Delete, Duplicate, exportChat } from './chat-more'
import { Publications, Publish } from './chat-publish'
import { Replies } from './chat-replies'

export { ChatPreview } from './chat-look'

export function Chat() {
  const workspace = useWorkspace()
  const id = useParam('id')
  const [tab, setTab] = useShown('tab', 'configure')
  const chat = useQuery({ queryKey: ['chat', id], queryFn: () => atrium.chatTemplates.get(id, { workspace }) })
  const may = usePermission()
  const [publishing, setPublishing] = useState(false)
  const [more, setMore] = useState<'duplicate' | 'delete'>()
  const download = useMutation({ mutationFn: (of: ChatTemplate) => exportChat(of, workspace) })
  const retract = useMutation({
    mutationFn: () => atrium.chatTemplates.update(id, { status: 'draft' }, { workspace, ifMatch: chat.data! }),
    onSuccess: () => queries.invalidateQueries(),
  })
  if (!chat.data) return chat.error ? <Missing title={t.chat} up={<Up to="chats">{t.chats}</Up>} error={chat.error} /> : <Loading />
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
          ...(mayEdit ? [ // what others change elsewhere in the chat leaves what is typed here
            { id: 'look', label: words.look, body: <Look key={JSON.stringify(c.theme)} chat={c} mayEdit={mayEdit} /> },
            { id: 'languages', label: words.languages, body: <Languages key={JSON.stringify(c.translations)} chat={c} /> },
            { id: 'replies', label: words.replies, body: <Replies key={JSON.stringify(c.reply)} chat={c} /> },
            { id: 'history', label: t.history, body: <Publications chat={c} /> },
          ] : []),
          ...(manages ? [{ id: 'embed', label: words.embed, body: <Embed chat={c} /> }] : []),
          { id: 'members', label: t.members, body: <ChatMembers chat={c} /> },
        ]}
      />
    </>
  )
}
